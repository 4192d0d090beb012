import type { ServerBundle } from './bundle.ts';
import { warningsOf } from '../conditions.ts';
import type { Plan, PlannedCondition, PlannedEvent } from '../plan.ts';
import { serverConditions } from './conditions.ts';
import { configHashes } from './config-hashes.ts';
import { urlOf } from './names.ts';
import { objectsOf } from './objects.ts';
import { type Phase, phaseOf } from './phase.ts';
import { type PlanDeps, type Rendering, isAcceptable, render } from './render.ts';
import { isRoutable } from './reports.ts';
import { type BackendView, type Situation, situationOf } from './situation.ts';
import { serverSpec } from './spec.ts';

/** The newest spec is always rendered; what is applied is that, or the last good one while it cannot be served. */
export const planServer = (bundle: ServerBundle, deps: PlanDeps): Plan => {
  const { settings, contract } = deps;
  const newest = render(bundle, { spec: serverSpec(bundle.server), references: bundle.references }, deps);
  const served = isAcceptable(newest) ? newest : lastGood(bundle, deps);
  const situation = situationOf({ bundle, settings, newest, served });
  const phase = phaseOf(situation);
  const conditions = serverConditions(situation, phase);
  return {
    ...applied(situation),
    ...(settings.local === undefined && { pullStatusEveryMs: contract.statusIntervalMs((served ?? newest).spec) }),
    status: { ...statusOf(situation, phase), conditions },
    events: eventsOf(phase, conditions),
    ...(served !== undefined && { config: served.files, startupHash: served.startupHash }),
    ...(served !== newest && { withheld: newest.files }),
  };
};

/** Planned again with today's references, so that a deleted child comes back and a revoked backend goes. */
const lastGood = (bundle: ServerBundle, deps: PlanDeps): Rendering | undefined => {
  if (bundle.accepted === undefined) return undefined;
  const rendering = render(bundle, bundle.accepted, deps);
  return rendering.refusals.length === 0 ? rendering : undefined;
};

/** Without a spec that may be served, children stay as they are. */
const applied = ({ bundle, settings, newest, served }: Situation): Pick<Plan, 'objects'> => {
  if (settings.local !== undefined) return { objects: [] };
  if (served === undefined) return {};
  const generation = served === newest ? bundle.server.metadata.generation : bundle.accepted?.generation;
  return { objects: objectsOf(bundle, served, settings, generation) };
};

/** What went wrong, and the end of a way: a server that is waiting is no news. */
const eventsOf = (
  { phase, reason, message }: Phase,
  conditions: readonly PlannedCondition[],
): readonly PlannedEvent[] => [
  ...warningsOf(conditions.filter(({ type }) => type !== 'Ready')),
  ...(phase === 'Ready' ? [{ type: 'Normal' as const, reason, message }] : []),
  ...(phase === 'Failed' ? [{ type: 'Warning' as const, reason, message }] : []),
];

/** spec: VirtualMCPServer status */
const statusOf = (situation: Situation, { phase, message }: Phase): Readonly<Record<string, unknown>> => {
  const { bundle, settings, backends } = situation;
  const { generation } = bundle.server.metadata;
  return {
    phase,
    message,
    url: urlOf(bundle.server, settings),
    backendCount: backends.filter(({ status }) => isRoutable(status)).length,
    ...(generation !== undefined && { observedGeneration: generation }),
    ...configHashes(bundle),
    discoveredBackends: backends.map(discoveredBackend),
    extensions: { toolCount: toolCount(situation) },
  };
};

/** What an operator that has just started knows is what status said last. */
const toolCount = ({ reports, pods, bundle }: Situation): number => {
  const said = bundle.server['status'] as { readonly extensions?: { readonly toolCount?: number } } | undefined;
  return reports.reachable === 0 && pods.isServing ? (said?.extensions?.toolCount ?? 0) : reports.toolCount;
};

/** spec: discoveredBackends[].authType and authConfigRef */
const authShown = ({ auth }: BackendView): Readonly<Record<string, string>> =>
  auth === undefined
    ? { authType: 'unauthenticated' }
    : { ...(auth.type !== undefined && { authType: auth.type }), authConfigRef: auth.configName };

const discoveredBackend = (view: BackendView): Readonly<Record<string, unknown>> => ({
  name: view.name,
  ...(view.url !== undefined && { url: view.url }),
  status: view.status,
  ...authShown(view),
  ...(view.message !== undefined && { message: view.message }),
  ...(view.lastHealthCheck !== undefined && { lastHealthCheck: view.lastHealthCheck }),
  consecutiveFailures: view.consecutiveFailures,
});
