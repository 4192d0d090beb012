import type { KubeObject } from '../../../object.ts';
import { type Violation, violationsOf } from '../../../validate/index.ts';
import { type StallingCause, stallingCause } from '../../conditions.ts';
import type { CheckedFiles, Contract, Refusal } from '../../contract.ts';
import { isReady } from '../../embedding-server/spec.ts';
import { type ResolvedReference, lookUpIn, unresolved } from '../../references.ts';
import type { ServerSpec } from '../../server-spec.ts';
import type { Settings } from '../../settings.ts';
import type { WrittenSpec } from '../../written-spec.ts';
import type { BackendFiles, CaBundle, GroupView, KeyRef, ServerBundle } from '../bundle.ts';
import { CA_OWNERS, type MountedFiles, mountedFiles } from '../objects/mounted-files.ts';
import { type PlannedBackend, whyDown, withLocatedBackends } from './backends.ts';
import { refusalOf } from './check-backend.ts';
import { filesInput } from './config.ts';
import { type IncomingAuth, incomingAuth } from './incoming-auth.ts';
import type { SpecInput, WrittenInput } from './part.ts';
import { telemetryCaBundle } from './telemetry.ts';

/** The files that one spec renders to now, and why it may not be served. */
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

/** What the kinds that the runtime serves differ in before their config is made. */
export interface RenderedShape {
  /** What is asked for, in the words of a VirtualMCPServer. */
  specOf(input: WrittenInput): ServerSpec;
  backendsOf(bundle: ServerBundle, input: SpecInput, deps: PlanDeps): ServedBackends;
}

/** The group as it was found, and a planned backend for each member. */
export interface ServedBackends {
  readonly group: GroupView;
  readonly backends: readonly PlannedBackend[];
}

export interface RenderDeps extends PlanDeps {
  readonly shape: RenderedShape;
}

/** Renders one spec, accepted or not: `refusals` and `unresolved` say whether its files may be served. Never throws. */
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
    // docs/decisions.md "Last good spec": what came from a lost object stays as it was.
    caBundles: [...(accepted?.caBundles ?? []), ...caBundles(input, auth, backends)],
    deployment: children.deployment,
    ofBackends: Object.values(ofBackends).flat(),
  });
  const open = unresolved(requiredReferences(references, spec));
  const violations = violationsIn(server, said, settings);
  // Fields first: they say what the user wrote, the files only what became of it.
  const unsupported = contract.unsupportedFields(server.kind, written);
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

/**
 * Accepted = valid and every reference resolved (docs/decisions.md "Last good spec"); applied is what its ConfigMap
 * proves.
 */
export const isAcceptable = ({ unresolved: open, refusals }: Rendering): boolean =>
  open.length === 0 && refusals.length === 0;

/**
 * References without which the whole server has to wait (docs/status.md "References"; "Optimizer enabled without a
 * ready `embeddingServerRef`"). A missing MCPExternalAuthConfig or Secret fails what uses it, and what `anonymous`
 * ignores may lead anywhere (docs/decisions.md "The optimizer needs its EmbeddingServer").
 */
const requiredReferences = (
  references: readonly ResolvedReference[],
  { incomingAuth, config, isFront }: ServerSpec,
): readonly ResolvedReference[] =>
  references
    .filter(({ kind, path }) => !OF_PARTS.has(kind) || path === AUTH_SERVER)
    // The members of its group are not what a front serves.
    .filter(({ kind }) => isFront !== true || kind !== 'MCPGroup')
    .filter(({ path }) => incomingAuth.type !== 'anonymous' || !OF_CALLERS.test(path))
    .filter(({ kind }) => kind !== 'EmbeddingServer' || config?.['optimizer'] !== undefined)
    .map((reference) =>
      isAwaited(reference) ? { ...reference, target: undefined, invalid: 'is not ready' } : reference,
    );

const AUTH_SERVER = 'spec.authServerRef';
const OF_CALLERS = /^spec\.(incomingAuth|oidcConfigRef|authzConfig)\b/;

const OF_PARTS: ReadonlySet<string> = new Set(['MCPExternalAuthConfig', 'Secret']);

const isAwaited = ({ kind, target }: ResolvedReference): boolean =>
  kind === 'EmbeddingServer' && target !== undefined && !isReady(target);

/** A withheld backend is not in the config: its files are those `known` from when it was. */
export const backendFiles = (
  backends: readonly PlannedBackend[],
  filePaths: readonly string[],
  known: BackendFiles = {},
): BackendFiles =>
  Object.fromEntries(
    backends.flatMap((backend) => {
      const { name } = backend;
      const before = Object.hasOwn(known, name) ? known[name] : undefined;
      const files = whyDown(backend) === undefined ? namedFor(backend, filePaths) : (before ?? []);
      return files.length === 0 ? [] : [[name, files] as const];
    }),
  );

const namedFor = ({ entry, strategy }: PlannedBackend, filePaths: readonly string[]): readonly string[] => {
  const text = JSON.stringify([entry, strategy]);
  return [...new Set(filePaths)].filter((path) => text.includes(JSON.stringify(path)));
};
