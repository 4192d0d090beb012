import { type SpecOf, specOf } from '../../../../crds/index.ts';
import { lookUpIn } from '../../references.ts';
import { type SpecInput, before } from './part.ts';

type Workflow = SpecOf<typeof KIND>;

/**
 * `config.compositeTools` and what `compositeToolRefs` name, in this order: the file knows no references
 * (docs/decisions.md "Keys that only the file has").
 */
export const compositeTools = (input: SpecInput): unknown => {
  const { compositeTools: inline = [], compositeToolRefs = [] } = input.spec.config ?? {};
  if (compositeToolRefs.length === 0) return inline.length === 0 ? undefined : inline;
  const found = compositeToolRefs.flatMap(({ name }) => lookUpIn(input.references)(KIND, name) ?? []);
  const own = [...inline, ...found.map((definition) => specOf(KIND, definition))];
  return found.length < compositeToolRefs.length ? [...own, ...asBefore(own, input)] : own;
};

const KIND = 'VirtualMCPCompositeToolDefinition';

/**
 * docs/decisions.md "Names of composite tools": the name of a lost definition's workflow is unknown, so every accepted
 * workflow that is not defined any more stays.
 */
const asBefore = (own: readonly Workflow[], input: SpecInput): readonly Workflow[] => {
  const kept = (before(input, 'compositeTools') ?? []) as readonly Workflow[];
  return kept.filter(({ name }) => !own.some((workflow) => workflow.name === name));
};
