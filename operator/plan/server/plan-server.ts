import { type StatusOf, specOf, statusIn } from '../../../crds/index.ts';
import { operationalSchema } from '../../../runtime/config/index.ts';
import type { BackendReport } from '../../../runtime/status/index.ts';
import type { KubeObject } from '../../object.ts';
import { DEGRADING, type Plan, type VolatileKeys } from '../plan.ts';
import { serverSpec } from '../server-spec.ts';
import { planOfUnplanned } from '../unplanned.ts';
import { readyIn } from '../workload/running-workload.ts';
import type { ServerBundle } from './bundle.ts';
import { groupBackends } from './config/group-backends.ts';
import type { Value } from './config/part.ts';
import type { PlanDeps } from './config/render.ts';
import { podLabelsOf } from './objects/names.ts';
import { type ServedShape, planServed } from './plan-served.ts';
import { serverConditions } from './status/conditions.ts';
import { phaseOf } from './status/phase.ts';
import { isRoutable } from './status/reports.ts';
import type { BackendView, StatusInput } from './status/status-input.ts';

/** A VirtualMCPServer: one endpoint over the members of a group. */
export const planServer = (bundle: ServerBundle, deps: PlanDeps): Plan =>
  bundle.tooManyBackends === undefined
    ? planServed(bundle, AGGREGATOR, deps)
    : planOfUnplanned(bundle.server, {
        type: 'BackendsDiscovered',
        reason: 'TooManyBackends',
        message: bundle.tooManyBackends,
        phases: DEGRADING,
        requeueAfterMs: RECOUNT_MS,
      });

/** No event says that the other servers have fewer backends now. */
const RECOUNT_MS = 60_000;

/** docs/status.md "VirtualMCPServer" */
const statusOf = (statusInput: StatusInput, { phase, message, url, ...common }: Value): Value => {
  const { backends } = statusInput;
  return {
    phase,
    message,
    url,
    backendCount: backends.filter(({ status }) => isRoutable(status)).length,
    ...common,
    discoveredBackends: backends.map(discoveredBackend),
    extensions: { toolCount: toolCount(statusInput), ...scale(statusInput) },
  };
};

/**
 * For the scale subresource. Pods that are made and not yet ready are not counted: each would be a write of its own.
 */
const scale = ({ bundle: { server, children } }: StatusInput): Value => {
  const labels = Object.entries(podLabelsOf(server));
  return {
    replicas: readyIn(children.deployment),
    selector: labels.map(([key, value]) => `${key}=${value}`).join(','),
  };
};

/** What an operator that has just started knows is what status said last. */
const toolCount = ({ reports, pods, bundle }: StatusInput): number => {
  const said = statusIn('VirtualMCPServer', bundle.server);
  return reports.reachable === 0 && pods.isServing ? (said.extensions?.toolCount ?? 0) : reports.toolCount;
};

/**
 * `authType` and `authConfigRef` (docs/shared-configuration.md "Which configuration a backend is authenticated with");
 * the type as the MCPExternalAuthConfig, or `config.outgoingAuth`, spells it.
 */
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
  ...(view.circuitBreakerState !== undefined && { circuitBreakerState: view.circuitBreakerState }),
  ...(view.circuitLastChanged !== undefined && { circuitLastChanged: view.circuitLastChanged }),
});

/** What status says of a backend that was withheld is no report: no pod contacted that. */
const lastReported = (server: KubeObject): ReadonlyMap<string, BackendReport> | undefined => {
  const { discoveredBackends } = statusIn('VirtualMCPServer', server);
  const known = discoveredBackends?.filter((each) => !wasWithheld(each)).map(reportOf);
  return known && new Map(known.map((each) => [each.name, each]));
};

type Discovered = NonNullable<StatusOf<'VirtualMCPServer'>['discoveredBackends']>[number];

const reportOf = ({
  status = 'unknown',
  consecutiveFailures = 0,
  circuitBreakerState: circuit = '',
  ...rest
}: Discovered): BackendReport => ({
  ...rest,
  ...(circuit !== '' && { circuitBreakerState: circuit }),
  status,
  consecutiveFailures,
  toolCount: 0,
});

const wasWithheld = ({ status, lastHealthCheck }: Discovered): boolean =>
  status === 'unavailable' && lastHealthCheck === undefined;

const AGGREGATOR: ServedShape = {
  // It is written in these very words.
  specOf: ({ written: spec }) => specOf('VirtualMCPServer', { spec }),
  backendsOf: groupBackends,
  phaseOf,
  conditionsOf: serverConditions,
  statusOf,
  lastReported,
};

/** docs/decisions.md "No write without a reason": timestamps, and counters past their threshold. */
export const volatileStatus = (server: KubeObject): VolatileKeys =>
  new Map([
    ['lastHealthCheck', 0],
    // It changes with each trial that fails; what was true all along may wait.
    ['circuitLastChanged', 0],
    ['consecutiveFailures', unhealthyThreshold(server)],
  ]);

const unhealthyThreshold = (server: KubeObject): number => {
  return serverSpec(server).config?.operational?.failureHandling?.unhealthyThreshold ?? DEFAULT;
};

const DEFAULT = operationalSchema.parse({}).failureHandling.unhealthyThreshold;
