import type { KubeObject } from '../../object.ts';
import { conditionsIn } from '../conditions.ts';
import type { PlannedCondition } from '../plan.ts';
import type { RunningWorkload } from './running-workload.ts';

interface ContainerStatus {
  readonly name?: string;
  readonly image?: string;
  readonly ready?: boolean;
  readonly restartCount?: number;
  readonly state?: {
    readonly running?: object;
    readonly waiting?: { readonly reason?: string; readonly message?: string };
  };
  readonly lastState?: { readonly terminated?: { readonly reason?: string; readonly exitCode?: number } };
}

interface PodStatus {
  readonly phase?: string;
  readonly reason?: string;
  readonly containerStatuses?: readonly ContainerStatus[];
  readonly initContainerStatuses?: readonly ContainerStatus[];
}

/**
 * Why pods do not start, if they cannot. The same trouble always has the same words: the kubelet alternates between
 * reasons and counts delays, and each new text would be a write of the status.
 */
export const whyPodsCannotStart = (workload: RunningWorkload): string | undefined =>
  whyPodsDoNotRun(workload.pods) ?? whyNoPodIsMade(workload);

const whyPodsDoNotRun = (pods: readonly KubeObject[]): string | undefined => {
  // A failed pod (evicted, its node gone) has been replaced; it counts only while it is all there is.
  const living = pods.filter((pod) => statusOf(pod).phase !== 'Failed');
  const considered = living.length > 0 ? living : pods;
  return considered.map(podFailure).find((trouble) => trouble !== undefined);
};

/**
 * What pods that are not ready wait for, in words that stay the same: the scheduler counts nodes, and each count would
 * be a write of the status. It may pass by itself (a node comes), so nothing has failed. A StatefulSet has no pod for a
 * moment whenever one is replaced: that it has none is not reported.
 */
export const whatPodsWaitFor = (pods: readonly KubeObject[], statefulSet?: string): string => {
  const stuck = pods.find((pod) => conditionsIn(pod['status']).some(isUnschedulable));
  const wait = 'waiting for a pod to be ready';
  if (stuck !== undefined) return `${wait}: no node takes pod ${stuck.metadata.name}; its events say why`;
  return statefulSet === undefined
    ? wait
    : `${wait}; if none is made, the events of StatefulSet ${statefulSet} say why`;
};

const isUnschedulable = ({ type, status, reason }: PlannedCondition): boolean =>
  type === 'PodScheduled' && status === 'False' && reason === 'Unschedulable';

/** Whether it is ready is another question. */
export const isContainerRunning = (pod: KubeObject, container: string): boolean =>
  (statusOf(pod).containerStatuses ?? []).some(({ name, state }) => name === container && state?.running !== undefined);

const statusOf = (pod: KubeObject): PodStatus => pod['status'] ?? {};

const podFailure = (pod: KubeObject): string | undefined => {
  const { phase, reason, containerStatuses = [], initContainerStatuses = [] } = statusOf(pod);
  const { name } = pod.metadata;
  if (phase === 'Failed') return `pod ${name} failed${reason === undefined ? '' : `: ${reason}`}`;
  const trouble = [...initContainerStatuses, ...containerStatuses]
    .map(containerFailure)
    .find((each) => each !== undefined);
  return trouble === undefined ? undefined : `pod ${name}: ${trouble}`;
};

/** A container that ended this often without having become ready does so for a reason of its own. */
const CRASHES = 3;

const containerFailure = (container: ContainerStatus): string | undefined => {
  const { reason = '', message } = container.state?.waiting ?? {};
  if (PULLING.has(reason)) return `image ${container.image ?? ''} cannot be pulled; the events of the pod say why`;
  if (STUCK.has(reason)) return message === undefined ? reason : `${reason}: ${message}${remedyFor(message)}`;
  const isCrashing = container.ready !== true && (container.restartCount ?? 0) >= CRASHES;
  return reason === 'CrashLoopBackOff' || isCrashing ? crash(container) : undefined;
};

const PULLING: ReadonlySet<string> = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'ErrImageNeverPull',
  'InvalidImageName',
]);

const STUCK: ReadonlySet<string> = new Set(['CreateContainerConfigError', 'CreateContainerError', 'RunContainerError']);

/** The kubelet has no other word for it than this text. */
const remedyFor = (message: string): string =>
  message.includes('runAsNonRoot')
    ? '; set securityContext.runAsUser of the container in spec.podTemplateSpec to a user other than root'
    : '';

const crash = ({ lastState }: ContainerStatus): string => {
  const { reason = 'Error', exitCode } = lastState?.terminated ?? {};
  return `the container keeps ending: ${reason}${exitCode === undefined ? '' : `, exit code ${exitCode}`}; its log says why`;
};

/**
 * Quota, a missing service account, an admission webhook: no pod is even made. Only the ReplicaSet of the template as
 * it is now counts: the condition of the Deployment repeats that of older ones, whose cause may be mended.
 */
const whyNoPodIsMade = (workload: RunningWorkload): string | undefined => {
  const message =
    workload.podCreationFailure ??
    ofThisTemplate(workload)
      .flatMap((each) => conditionsIn(each['status']))
      .find(({ type, status }) => type === 'ReplicaFailure' && status === 'True')?.message;
  // The API server has no other word for it than this text.
  return message?.includes('error looking up service account') === true
    ? `${message}; create it, or leave spec.serviceAccount out`
    : message;
};

/** The Deployment's revision annotation says which ReplicaSet is of its present template. */
const ofThisTemplate = ({ controller, replicaSets }: RunningWorkload): readonly KubeObject[] => {
  const current = controller?.metadata.annotations?.[REVISION];
  return replicaSets.filter(({ metadata }) => current !== undefined && metadata.annotations?.[REVISION] === current);
};

const REVISION = 'deployment.kubernetes.io/revision';
