import type { BackendReport } from '../../../../runtime/status/index.ts';
import type { KubeObject } from '../../../object.ts';
import { conditionsIn } from '../../conditions.ts';
import type { PlannedCondition } from '../../plan.ts';
import type { Settings } from '../../settings.ts';
import { whyPodsCannotStart } from '../../workload/pod-failures.ts';
import { selects, wantsNoPods } from '../../workload/running-workload.ts';
import type { PodReports, ServerBundle } from '../bundle.ts';
import type { BackendAuth } from '../config/named-auth.ts';
import type { Rendering } from '../config/render.ts';
import { isRuntime } from '../objects/pod-template.ts';
import { type MergedReports, mergeReports } from './reports.ts';

/** Everything the status of a server is derived from. */
export interface StatusInput {
  readonly bundle: ServerBundle;
  readonly settings: Settings;
  /** The newest spec. */
  readonly newest: Rendering;
  /** What is served: the newest spec, else the accepted one; undefined when neither can be. */
  readonly served: Rendering | undefined;
  readonly reports: MergedReports;
  readonly pods: PodsView;
  readonly backends: readonly BackendView[];
}

/** How the pods of the server are. */
export interface PodsView {
  readonly isServing: boolean;
  readonly isScaledToZero: boolean;
  /** Why pods do not start, in the kubelet's words. */
  readonly cannotStart: string | undefined;
}

/** A backend as status shows it. */
export interface BackendView extends BackendReport {
  readonly url?: string;
  readonly auth?: BackendAuth;
  readonly typeInConfig?: string;
  readonly isWithheld: boolean;
}

/** What the kinds that the runtime serves differ in where their status is read. */
export interface ReportedShape {
  /**
   * What status said last of the backends: an operator that has just started knows nothing better until a pod answers.
   */
  readonly lastReported: (server: KubeObject) => ReadonlyMap<string, BackendReport> | undefined;
}

/** Gathers what conditions and phase are computed from: merged reports, pods, and each backend with both. */
export const statusInputOf = (
  parts: Pick<StatusInput, 'bundle' | 'settings' | 'newest' | 'served'>,
  shape: ReportedShape,
): StatusInput => {
  const reports = mergeReports(countedReports(parts.bundle));
  const pods = podsView(parts);
  return { ...parts, reports, pods, backends: backendViews({ ...parts, reports, pods }, shape) };
};

/** The reports that count: a pod that is not ready yet need not answer, since its port is not open. */
const countedReports = (bundle: ServerBundle): PodReports => {
  const ready = new Set(bundle.children.pods.filter(isReady).map(nameOf));
  const strange = new Set(podsWithoutRuntime(bundle).map(nameOf));
  return new Map(
    [...bundle.reports].filter(([pod, report]) => !strange.has(pod) && (report !== 'unreachable' || ready.has(pod))),
  );
};

const nameOf = ({ metadata }: KubeObject): string => metadata.name;

/**
 * Pods of the container from before it had a runtime in front: its Deployment is now the runtime's, and they end when
 * that is ready.
 */
const podsWithoutRuntime = ({ server, children: { pods } }: ServerBundle): readonly KubeObject[] =>
  server.kind === 'MCPServer' ? pods.filter((pod) => !isRuntime(server, pod)) : [];

/** Number of runtimes among the pods that the Deployment counts. */
export const runtimesOf = (bundle: ServerBundle, counted = 0): number =>
  bundle.exposedController === undefined ? Math.max(0, counted - podsWithoutRuntime(bundle).filter(isReady).length) : 0;

/** The container that is reached with no runtime in front, while the spec that asks for one cannot be served. */
export const exposedWorkload = ({ bundle, served }: Pick<StatusInput, 'bundle' | 'served'>): KubeObject | undefined =>
  served === undefined && bypassesRuntime(bundle.children.service, bundle) ? bundle.exposedController : undefined;

/** Whether this Service selects pods other than the runtime's. */
export const bypassesRuntime = (service: KubeObject | undefined, { bypassWorkloads = [] }: ServerBundle): boolean =>
  bypassWorkloads.some((each) => selects(service, each));

const isReady = (pod: KubeObject): boolean =>
  conditionsIn(pod['status']).some(({ type, status }) => type === 'Ready' && status === 'True');

const podsView = ({
  bundle,
  settings,
  newest,
  served,
}: Pick<StatusInput, 'bundle' | 'settings' | 'newest' | 'served'>): PodsView => {
  if (settings.local !== undefined) {
    return { isServing: bundle.reports.size > 0, isScaledToZero: false, cannotStart: undefined };
  }
  const { deployment, replicaSets, pods } = bundle.children;
  const status = deployment?.['status'] as DeploymentStatus | undefined;
  return {
    isServing: runtimesOf(bundle, status?.availableReplicas) > 0,
    isScaledToZero: wantsNoPods((served ?? newest).spec.replicas, deployment),
    cannotStart: whyPodsCannotStart({ controller: deployment, replicaSets, pods }),
  };
};

interface DeploymentStatus {
  readonly availableReplicas?: number;
}

/** docs/decisions.md "Routable backends": one per backend, withheld ones included. */
const backendViews = (
  parts: Pick<StatusInput, 'bundle' | 'newest' | 'served' | 'reports' | 'pods'>,
  { lastReported }: ReportedShape,
): readonly BackendView[] => {
  const lastKnown =
    parts.reports.reachable === 0 && parts.pods.isServing ? lastReported(parts.bundle.server) : undefined;
  const reported = lastKnown ?? parts.reports.backends;
  const backends = (parts.served ?? parts.newest).backends;
  // The list is keyed by name: a member whose name is taken is reported in a condition.
  return backends
    .filter(({ withheld }) => withheld?.reason !== 'NameTaken')
    .map(({ name, url, auth, typeInConfig, withheld }) => {
      const report = reported.get(name) ?? { name, status: 'unknown', consecutiveFailures: 0, toolCount: 0 };
      const known = {
        ...(url !== undefined && { url }),
        ...(auth !== undefined && { auth }),
        ...(typeInConfig !== undefined && { typeInConfig }),
      };
      const view = { ...report, ...known, isWithheld: withheld !== undefined };
      return withheld === undefined ? view : { ...view, status: 'unavailable', message: withheld.message };
    });
};

/**
 * Pods serve, and this process has not asked one yet: what status said of them stays, so that a restart causes no
 * write.
 */
export const isAwaitingReports = ({ pods, reports: { reachable, unreachable } }: StatusInput): boolean =>
  pods.isServing && reachable === 0 && unreachable.length === 0;

/** The conditions that the status has now, without times. */
export const conditionsBefore = ({ bundle: { server } }: StatusInput): readonly PlannedCondition[] =>
  conditionsIn(server['status']).map(({ type, status, reason, message }) => ({ type, status, reason, message }));
