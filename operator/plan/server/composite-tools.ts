import { valueIn } from '../contract.ts';
import type { ConfigFiles } from '../plan.ts';
import { type ResolvedReference, lookUpIn } from '../references.ts';
import type { ServerSpec } from './spec.ts';

interface Workflow {
  readonly name: string;
}

export interface CompositeToolsInput {
  readonly spec: ServerSpec;
  readonly references: readonly ResolvedReference[];
  /** The files of the accepted spec, when it is that which is rendered. */
  readonly files?: ConfigFiles;
}

/** `config.compositeTools` and what `compositeToolRefs` name, in this order: the file knows no references (decisions "Config in the cluster"). */
export const compositeTools = (input: CompositeToolsInput): unknown => {
  const { compositeTools: inline = [], compositeToolRefs = [] } = (input.spec.config ?? {}) as {
    readonly compositeTools?: readonly Workflow[];
    readonly compositeToolRefs?: readonly { readonly name: string }[];
  };
  if (compositeToolRefs.length === 0) return inline.length === 0 ? undefined : inline;
  const found = compositeToolRefs.flatMap(({ name }) => lookUpIn(input.references)(KIND, name) ?? []);
  const own = [...inline, ...found.map(({ spec }) => spec as Workflow)];
  return found.length < compositeToolRefs.length ? [...own, ...asBefore(own, input.files)] : own;
};

const KIND = 'VirtualMCPCompositeToolDefinition';

/** Decisions "Last good spec": of a lost definition nobody knows the name of its workflow, so every one that is not there any more stays. */
const asBefore = (own: readonly Workflow[], files: ConfigFiles | undefined): readonly Workflow[] => {
  const before = (files && (valueIn(files)['compositeTools'] as readonly Workflow[] | undefined)) ?? [];
  return before.filter(({ name }) => !own.some((workflow) => workflow.name === name));
};
