import { type SpecOf, specOf } from '../../../../crds/index.ts';
import { OPTIMIZER_TOOLS } from '../../../../runtime/workflow-checks/index.ts';
import { lookUpIn } from '../../references.ts';
import { type SpecInput, before } from './part.ts';

type Workflow = SpecOf<typeof KIND>;

/** A definition that is named, and whose workflow is not offered. */
export interface DroppedDefinition {
  readonly definition: string;
  readonly workflow: string;
  /** What has the name of its workflow. */
  readonly keptBy: string;
}

/**
 * `config.compositeTools` and what `compositeToolRefs` name, in this order: the file knows no references
 * (docs/decisions.md "Keys that only the file has").
 */
export const compositeTools = (input: SpecInput): unknown => {
  const { compositeTools: inline = [], compositeToolRefs = [] } = input.spec.config ?? {};
  if (compositeToolRefs.length === 0) return inline.length === 0 ? undefined : inline;
  const { kept, isComplete } = referred(input);
  const own = [...inline, ...kept];
  return isComplete ? own : [...own, ...asBefore(own, input)];
};

/** docs/decisions.md "Names of composite tools": of two definitions of one name the first is offered. */
export const droppedDefinitions = (input: Pick<SpecInput, 'spec' | 'references'>): readonly DroppedDefinition[] =>
  referred(input).dropped;

const KIND = 'VirtualMCPCompositeToolDefinition';

interface Referred {
  readonly kept: readonly Workflow[];
  readonly dropped: readonly DroppedDefinition[];
  /** Whether all definitions are there. */
  readonly isComplete: boolean;
}

const referred = ({ spec, references }: Pick<SpecInput, 'spec' | 'references'>): Referred => {
  const { compositeTools: inline = [], compositeToolRefs = [], optimizer } = spec.config ?? {};
  const holders = new Map<string, string>([
    ...(optimizer === undefined ? [] : OPTIMIZER_TOOLS).map((name) => [name, 'the optimizer'] as const),
    ...inline.map(({ name }) => [name, 'config.compositeTools'] as const),
  ]);
  const definitions = new Set(compositeToolRefs.map(({ name }) => name));
  const kept: Workflow[] = [];
  const dropped: DroppedDefinition[] = [];
  for (const definition of definitions) {
    const found = lookUpIn(references)(KIND, definition);
    if (found === undefined) continue;
    const workflow = specOf(KIND, found);
    const keptBy = holders.get(workflow.name);
    if (keptBy === undefined) {
      kept.push(workflow);
      holders.set(workflow.name, `${KIND} ${definition}`);
    } else {
      dropped.push({ definition, workflow: workflow.name, keptBy });
    }
  }
  return { kept, dropped, isComplete: kept.length + dropped.length === definitions.size };
};

/**
 * docs/decisions.md "Names of composite tools": the name of a lost definition's workflow is unknown, so every accepted
 * workflow that is not defined any more stays.
 */
const asBefore = (own: readonly Workflow[], input: SpecInput): readonly Workflow[] => {
  const kept = (before(input, 'compositeTools') ?? []) as readonly Workflow[];
  return kept.filter(({ name }) => !own.some((workflow) => workflow.name === name));
};
