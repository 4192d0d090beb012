import type { KubeObject } from '../../object.ts';
import { type Violation, violationText, violationsOf } from '../../validate/index.ts';
import { type CheckedFiles, type Contract, type Refusal, foundIn } from '../contract.ts';
import type { ConfigFiles } from '../plan.ts';
import { type ResolvedReference, lookUpIn, unresolved } from '../references.ts';
import type { Settings } from '../settings.ts';
import {
  type DiscoveryInput,
  type PlannedBackend,
  discoveredBackends,
  hasStaticBackends,
  staticBackends,
  withLocatedBackends,
} from './backends.ts';
import type { GroupView, ServerBundle } from './bundle.ts';
import { filesInput } from './config.ts';
import { type IncomingAuth, incomingAuth } from './incoming-auth.ts';
import { CA_OWNERS, type CaBundle, type KeyRef, type MountedFiles, mountedFiles } from './mounted-files.ts';
import type { SpecInput } from './part.ts';
import { requiredReferences } from './required.ts';
import type { ServerSpec } from './spec.ts';
import { telemetryCaBundle } from './telemetry.ts';

/** What one spec renders to in today's world, and what speaks against serving it. */
export interface Rendering extends CheckedFiles {
  readonly spec: ServerSpec;
  readonly group: GroupView;
  readonly backends: readonly PlannedBackend[];
  readonly mounted: MountedFiles;
  /** Rules beyond the schema that the spec breaks. */
  readonly violations: readonly Violation[];
  /** What the whole server has to wait for. */
  readonly unresolved: readonly ResolvedReference[];
}

/** What stays the same from plan to plan. */
export interface PlanDeps {
  readonly settings: Settings;
  readonly contract: Contract;
}

export const render = (bundle: ServerBundle, input: SpecInput, { settings, contract }: PlanDeps): Rendering => {
  const { spec, references } = input;
  const group = bundle.groups.get(spec.groupRef.name) ?? { group: undefined, members: [] };
  const { server, children, memberAuth } = bundle;
  const authConfigs = [...references, ...memberAuth];
  const backends = backendsOf(input, group, { spec, authConfigs, settings, contract });
  const auth = incomingAuth({ ...input, server, settings });
  const said = filesInput({ ...input, server, settings, auth, backends, service: children.service });
  const rendered = contract.filesOf(said);
  const mounted = mountedFiles(rendered.filePaths, caBundles(input, auth, backends), children.deployment);
  const open = unresolved(requiredReferences(references, spec));
  const violations = violationsIn(server, input, settings);
  // Fields first: they say what the user wrote, the files only what became of it.
  const written = [
    ...contract.unsupportedFields('VirtualMCPServer', spec),
    ...violations.map(refusalOf),
    ...auth.refusals,
  ];
  const refusals: readonly Refusal[] = written.length > 0 || open.length > 0 ? written : rendered.refusals;
  return { ...rendered, spec, group, backends, mounted, violations, unresolved: open, refusals };
};

/** Every CA bundle that is known today. */
const caBundles = (input: SpecInput, auth: IncomingAuth, backends: readonly PlannedBackend[]): readonly CaBundle[] => [
  ...bundleOf(CA_OWNERS.oidc, auth.caBundle),
  ...bundleOf(CA_OWNERS.telemetry, telemetryCaBundle(input)),
  ...backends.flatMap(({ name, caBundle }) => bundleOf(name, caBundle)),
];

const bundleOf = (owner: string, configMap: KeyRef | undefined): readonly CaBundle[] =>
  configMap === undefined ? [] : [{ owner, configMap }];

const violationsIn = (server: KubeObject, { spec, references }: SpecInput, settings: Settings): readonly Violation[] =>
  violationsOf({ ...server, spec: withLocatedBackends(spec, settings) }, lookUpIn(references));

const refusalOf = (violation: Violation): Refusal => ({ reason: 'Invalid', message: violationText(violation) });

const backendsOf = (
  { spec, files }: SpecInput,
  { group, members }: GroupView,
  discovery: DiscoveryInput,
): readonly PlannedBackend[] => {
  if (hasStaticBackends(spec)) return staticBackends(members, discovery);
  if (group !== undefined) return discoveredBackends(members, discovery);
  return files === undefined ? [] : keptBackends(files);
};

/** Decisions "Last good spec": what came from the lost group stays as it was. */
const keptBackends = (kept: ConfigFiles): readonly PlannedBackend[] => {
  const { backends = [], withheld, outgoingAuth } = foundIn(kept);
  const strategies = new Map(Object.entries(outgoingAuth?.backends ?? {}));
  return [
    ...backends.map((entry) => {
      const strategy = strategies.get(entry.name);
      return { name: entry.name, url: entry.url, entry, ...(strategy && { strategy }) };
    }),
    ...withheld.map(({ name, message }) => ({ name, withheld: { reason: 'Invalid' as const, message } })),
  ].sort((a, b) => (a.name < b.name ? -1 : 1));
};

/** Accepted = valid and every reference resolved (decisions "Last good spec"); applied is what its ConfigMap proves. */
export const isAcceptable = ({ unresolved: open, refusals }: Rendering): boolean =>
  open.length === 0 && refusals.length === 0;
