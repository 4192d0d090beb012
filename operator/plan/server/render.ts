import type { KubeObject } from '../../object.ts';
import { violationText, violationsOf } from '../../validate/index.ts';
import { type CheckedFiles, type Contract, type Refusal, foundIn } from '../contract.ts';
import type { ConfigFiles } from '../plan.ts';
import { type ResolvedReference, lookUpIn, missingReferences } from '../references.ts';
import type { Settings } from '../settings.ts';
import {
  type PlannedBackend,
  discoveredBackends,
  hasStaticBackends,
  staticBackends,
  withLocatedBackends,
} from './backends.ts';
import type { GroupView, ServerBundle } from './bundle.ts';
import { filesInput } from './config.ts';
import type { ServerSpec } from './spec.ts';

/** What one spec renders to in today's world, and what speaks against serving it. */
export interface Rendering extends CheckedFiles {
  readonly spec: ServerSpec;
  readonly group: GroupView;
  readonly backends: readonly PlannedBackend[];
  /** References that resolve to nothing, as `kind name`. */
  readonly missing: readonly string[];
}

/** The newest spec of a server, or the accepted one. */
export interface SpecInput {
  readonly spec: ServerSpec;
  readonly references: readonly ResolvedReference[];
  /** The files of the accepted spec, whose keys stand in for a reference of the whole server that went missing. */
  readonly files?: ConfigFiles;
}

/** What stays the same from plan to plan. */
export interface PlanDeps {
  readonly settings: Settings;
  readonly contract: Contract;
}

export const render = (bundle: ServerBundle, input: SpecInput, { settings, contract }: PlanDeps): Rendering => {
  const { spec, references } = input;
  const group = bundle.groups.get(spec.groupRef.name) ?? { group: undefined, members: [] };
  const backends = backendsOf(input, group, { settings, contract });
  const { server, children } = bundle;
  const rendered = contract.filesOf(filesInput({ ...input, server, settings, backends, service: children.service }));
  // Fields first: they say what the user wrote, the files only what became of it.
  const written = [...contract.unsupportedFields('VirtualMCPServer', spec), ...violations(server, input, settings)];
  const refusals: readonly Refusal[] = written.length > 0 ? written : rendered.refusals;
  return { ...rendered, spec, group, backends, missing: missingReferences(references), refusals };
};

const violations = (server: KubeObject, { spec, references }: SpecInput, settings: Settings): readonly Refusal[] =>
  violationsOf({ ...server, spec: withLocatedBackends(spec, settings) }, lookUpIn(references)).map((each) => ({
    reason: 'Invalid',
    message: violationText(each),
  }));

const backendsOf = (
  { spec, files }: SpecInput,
  { group, members }: GroupView,
  { settings, contract }: PlanDeps,
): readonly PlannedBackend[] => {
  if (hasStaticBackends(spec)) return staticBackends(spec, settings);
  if (group !== undefined) return discoveredBackends(members, settings, contract);
  return files === undefined ? [] : keptBackends(files);
};

/** Decisions "Last good spec": what came from the lost group stays as it was. */
const keptBackends = (kept: ConfigFiles): readonly PlannedBackend[] => {
  const { backends, withheld } = foundIn(kept);
  return [
    ...backends.map((entry) => ({ name: entry.name, url: entry.url, entry })),
    ...withheld.map(({ name, message }) => ({ name, withheld: { reason: 'Invalid' as const, message } })),
  ].sort((a, b) => (a.name < b.name ? -1 : 1));
};

/** Accepted = valid and every reference resolved (decisions "Last good spec"); applied is what its ConfigMap proves. */
export const isAcceptable = ({ missing, refusals }: Rendering): boolean =>
  missing.length === 0 && refusals.length === 0;
