import type { BackendReport } from '../../../runtime/status-report.ts';
import type { KubeObject } from '../../object.ts';
import type { Plan } from '../plan.ts';
import { DEGRADING } from '../lowered-phases.ts';
import { planOfUnplanned } from '../unplanned.ts';
import { readyIn } from '../workload/standing.ts';
import type { ServerBundle } from './bundle.ts';
import { serverConditions } from './conditions.ts';
import { groupBackends } from './group-backends.ts';
import { podLabelsOf } from './names.ts';
import type { Value } from './part.ts';
import { phaseOf } from './phase.ts';
import { planServed } from './plan-served.ts';
import type { PlanDeps } from './render.ts';
import { isRoutable } from './reports.ts';
import type { ServedShape } from './shape.ts';
import type { BackendView, Situation } from './situation.ts';
import type { ServerSpec } from './spec.ts';

/** A VirtualMCPServer: one endpoint over the members of a group. */
export const planServer = (bundle: ServerBundle, deps: PlanDeps): Plan =>
  bundle.tooManyBackends === undefined
    ? planServed(bundle, AGGREGATOR, deps)
    : planOfUnplanned(bundle.server, {
        type: 'BackendsDiscovered',
        reason: 'TooManyBackends',
        message: bundle.tooManyBackends,
        phases: DEGRADING,
        againAfterMs: RECOUNT_MS,
      });

/** No event tells a server that the others have fewer backends now. */
const RECOUNT_MS = 60_000;

/** spec: VirtualMCPServer status */
const statusOf = (situation: Situation, { phase, message, url, ...common }: Value): Value => {
  const { backends } = situation;
  return {
    phase,
    message,
    url,
    backendCount: backends.filter(({ status }) => isRoutable(status)).length,
    ...common,
    discoveredBackends: backends.map(discoveredBackend),
    extensions: { toolCount: toolCount(situation), ...scale(situation) },
  };
};

/** For the scale subresource. Pods that are made and not yet ready are not counted: each would be a write of its own. */
const scale = ({ bundle: { server, children } }: Situation): Value => {
  const labels = Object.entries(podLabelsOf(server));
  return {
    replicas: readyIn(children.deployment),
    selector: labels.map(([key, value]) => `${key}=${value}`).join(','),
  };
};

/** What an operator that has just started knows is what status said last. */
const toolCount = ({ reports, pods, bundle }: Situation): number => {
  const said = bundle.server['status'] as { readonly extensions?: { readonly toolCount?: number } } | undefined;
  return reports.reachable === 0 && pods.isServing ? (said?.extensions?.toolCount ?? 0) : reports.toolCount;
};

/** spec: discoveredBackends[].authType and authConfigRef; the type as the MCPExternalAuthConfig, or `config.outgoingAuth`, spells it. */
const authShown = ({ auth, typeInConfig = 'unauthenticated' }: BackendView): Readonly<Record<string, string>> =>
  auth === undefined
    ? { authType: typeInConfig }
    : { ...(auth.type !== undefined && { authType: auth.type }), authConfigRef: auth.configName };

const discoveredBackend = (view: BackendView): Value => ({
  name: view.name,
  ...(view.url !== undefined && { url: view.url }),
  status: view.status,
  ...authShown(view),
  ...(view.message !== undefined && { message: view.message }),
  ...(view.lastHealthCheck !== undefined && { lastHealthCheck: view.lastHealthCheck }),
  consecutiveFailures: view.consecutiveFailures,
});

/** What status says of a backend that was withheld is no report: no pod contacted that. */
const lastReported = (server: KubeObject): ReadonlyMap<string, BackendReport> | undefined => {
  const status = server['status'] as { readonly discoveredBackends?: readonly BackendReport[] } | undefined;
  const known = status?.discoveredBackends?.filter((each) => !wasWithheld(each));
  return known === undefined ? undefined : new Map(known.map((each) => [each.name, { ...each, toolCount: 0 }]));
};

const wasWithheld = ({ status, lastHealthCheck }: BackendReport): boolean =>
  status === 'unavailable' && lastHealthCheck === undefined;

const AGGREGATOR: ServedShape = {
  // It is written in these very words.
  specOf: ({ written }) => written as unknown as ServerSpec,
  backendsOf: groupBackends,
  phaseOf,
  conditionsOf: serverConditions,
  statusOf,
  lastReported,
};
