import type { KubeObject } from '../../object.ts';
import { type Violation, violationsOf } from '../../validate/index.ts';
import type { CheckedFiles, Contract, Refusal } from '../contract.ts';
import { type ResolvedReference, lookUpIn, unresolved } from '../references.ts';
import type { Settings } from '../settings.ts';
import { type StallingCause, stallingCause } from '../stalled.ts';
import { type WrittenSpec, ownFields } from '../written-spec.ts';
import { type BackendFiles, backendFiles } from './backend-files.ts';
import { type PlannedBackend, withLocatedBackends } from './backends.ts';
import type { GroupView, ServerBundle } from './bundle.ts';
import { filesInput } from './config.ts';
import { type IncomingAuth, incomingAuth } from './incoming-auth.ts';
import { refusalOf } from './judge-backend.ts';
import { CA_OWNERS, type CaBundle, type KeyRef, type MountedFiles, mountedFiles } from './mounted-files.ts';
import type { SpecInput, WrittenInput } from './part.ts';
import { requiredReferences } from './required.ts';
import type { ServedShape } from './shape.ts';
import type { ServerSpec } from './spec.ts';
import { telemetryCaBundle } from './telemetry.ts';

/** What one spec renders to in today's world, and what speaks against serving it. */
export interface Rendering extends CheckedFiles {
  readonly written: WrittenSpec;
  /** The same in the words of a VirtualMCPServer. */
  readonly spec: ServerSpec;
  readonly group: GroupView;
  readonly backends: readonly PlannedBackend[];
  readonly mounted: MountedFiles;
  readonly backendFiles: BackendFiles;
  /** Rules beyond the schema that the spec breaks. */
  readonly violations: readonly Violation[];
  /** Refusals that no other object can mend. */
  readonly stalledBy: readonly StallingCause[];
  /** What the whole server has to wait for. */
  readonly unresolved: readonly ResolvedReference[];
}

/** What stays the same from plan to plan. */
export interface PlanDeps {
  readonly settings: Settings;
  readonly contract: Contract;
}

/** Of a kind that is served. */
export interface RenderDeps extends PlanDeps {
  readonly shape: ServedShape;
}

export const render = (bundle: ServerBundle, said: WrittenInput, deps: RenderDeps): Rendering => {
  const { settings, contract, shape } = deps;
  const { server, children, accepted } = bundle;
  const { written, references } = said;
  const spec = shape.specOf(said);
  const input = { ...said, spec };
  const { group, backends } = shape.backendsOf(bundle, input, deps);
  const auth = incomingAuth({ ...input, server, settings });
  const contents = filesInput({ ...input, server, settings, auth, backends, service: children.service });
  const rendered = contract.filesOf(contents);
  const ofBackends = backendFiles(backends, rendered.filePaths, accepted?.backendFiles);
  const mounted = mountedFiles({
    filePaths: rendered.filePaths,
    // Decisions "Last good spec": what came from a lost object stays as it was.
    caBundles: [...(accepted?.caBundles ?? []), ...caBundles(input, auth, backends)],
    deployment: children.deployment,
    ofBackends: Object.values(ofBackends).flat(),
  });
  const open = unresolved(requiredReferences(references, spec));
  const violations = violationsIn(server, said, settings);
  // Fields first: they say what the user wrote, the files only what became of it.
  const unsupported = contract.unsupportedFields(server.kind, ownFields(server, written));
  const complaints = [...unsupported, ...violations.map(refusalOf), ...auth.refusals];
  const refusals: readonly Refusal[] = complaints.length > 0 || open.length > 0 ? complaints : rendered.refusals;
  const alone = violations.length === 0 ? [] : violationsIn(server, { written, references: [] }, settings);
  const stalledBy = [...unsupported, ...alone.map(stallingCause)];
  const used = { mounted, backendFiles: ofBackends };
  return { ...rendered, written, spec, group, backends, ...used, violations, stalledBy, unresolved: open, refusals };
};

/** Every CA bundle that is known today. */
const caBundles = (input: SpecInput, auth: IncomingAuth, backends: readonly PlannedBackend[]): readonly CaBundle[] => [
  ...bundleOf(CA_OWNERS.oidc, auth.caBundle),
  ...bundleOf(CA_OWNERS.telemetry, telemetryCaBundle(input)),
  ...backends.flatMap(({ name, caBundle }) => bundleOf(name, caBundle)),
];

const bundleOf = (owner: string, configMap: KeyRef | undefined): readonly CaBundle[] =>
  configMap === undefined ? [] : [{ owner, configMap }];

const violationsIn = (
  server: KubeObject,
  { written, references }: WrittenInput,
  settings: Settings,
): readonly Violation[] =>
  violationsOf({ ...server, spec: withLocatedBackends(written, settings) }, lookUpIn(references));

/** Accepted = valid and every reference resolved (decisions "Last good spec"); applied is what its ConfigMap proves. */
export const isAcceptable = ({ unresolved: open, refusals }: Rendering): boolean =>
  open.length === 0 && refusals.length === 0;
