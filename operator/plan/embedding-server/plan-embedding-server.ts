import type { KubeObject } from '../../object.ts';
import { problem, stalled } from '../conditions.ts';
import type { Contract } from '../contract.ts';
import type { Plan, PlannedCondition } from '../plan.ts';
import { type ResolvedReference, referenceConditions } from '../references.ts';
import type { Settings } from '../settings.ts';
import { validCondition, verdictOn } from '../verdict.ts';
import { childOf } from '../workload/child.ts';
import { isContainerRunning } from '../workload/pod-failures.ts';
import {
  type RolloutState,
  eventsOf,
  readyCondition,
  rolloutStateOf,
  workloadStatus,
} from '../workload/rollout-state.ts';
import type { RunningWorkload } from '../workload/running-workload.ts';
import { planWithoutCluster } from '../workload/without-cluster.ts';
import { cacheText, existingCache, isSameCache, wantedCache } from './model-cache.ts';
import { CONTAINER, embeddingObjects } from './objects.ts';
import { type ModelCache, embeddingServerSpec, embeddingServerUrl } from './spec.ts';

/** An EmbeddingServer, what it refers to, and what the cluster has of it. */
export interface EmbeddingServerBundle {
  readonly server: KubeObject;
  readonly references: readonly ResolvedReference[];
  readonly workload: RunningWorkload;
}

export interface EmbeddingServerDeps {
  readonly settings: Settings;
  readonly contract: Contract;
}

/** An EmbeddingServer: a StatefulSet and its Service; in local mode the URL it is mapped to. */
export const planEmbeddingServer = (
  { server, references, workload }: EmbeddingServerBundle,
  { settings, contract }: EmbeddingServerDeps,
): Plan => {
  const url = embeddingServerUrl(server.metadata, settings);
  if (settings.local !== undefined) return planWithoutCluster(server, url, referenceConditions(references));
  const spec = embeddingServerSpec(server);
  const child = childOf(server);
  const cache = caches(wantedCache(spec), workload);
  const verdict = verdictOn({ config: server, references }, contract);
  const rolloutState = rolloutStateOf({
    workload,
    complaints: verdict.complaints,
    replicas: spec.replicas,
    statefulSet: child.name,
  });
  const fixed = isSameCache(cache.had, cache.wanted) ? [] : [cacheFixed(child.name, cache)];
  const conditions = [
    validCondition(verdict, 'the server can be run'),
    ...referenceConditions(references),
    ...fixed,
    readyCondition(rolloutState),
    ...stalled([...verdict.stalledBy, ...fixed]),
  ];
  const { phase, message } = phaseOf(rolloutState, workload);
  return {
    // A spec that cannot be run leaves what runs as it is.
    ...(verdict.complaints.length === 0 && { objects: embeddingObjects(spec, child, cache.had) }),
    status: workloadStatus(server, rolloutState, { phase, message, url, conditions }),
    events: eventsOf(rolloutState, conditions),
  };
};

interface Caches {
  readonly wanted: ModelCache | undefined;
  /** The one that the pods have; where there are none yet, the one that is wanted. */
  readonly had: ModelCache | undefined;
}

const caches = (wanted: ModelCache | undefined, { controller }: RunningWorkload): Caches => ({
  wanted,
  had: controller === undefined ? wanted : existingCache(controller),
});

/**
 * Kubernetes would refuse the whole StatefulSet, so the rest of the spec takes effect and this condition reports the
 * difference.
 */
const cacheFixed = (name: string, { wanted, had }: Caches): PlannedCondition =>
  problem(
    'ModelCacheFixed',
    'VolumesExist',
    `volumes cannot change: StatefulSet ${name} has ${cacheText(had)}, spec.modelCache asks for ${cacheText(wanted)}; delete that StatefulSet, and it is made anew with such volumes, or take the change back`,
  );

/** docs/workloads.md "EmbeddingServer" */
const phaseOf = (
  { state, message }: RolloutState,
  { pods }: RunningWorkload,
): { readonly phase: string; readonly message: string } => {
  if (state === 'serving') return { phase: 'Ready', message };
  if (state === 'refused' || state === 'stuck') return { phase: 'Failed', message };
  return pods.some((pod) => isContainerRunning(pod, CONTAINER))
    ? { phase: 'Downloading', message: 'the model is being fetched and loaded' }
    : { phase: 'Pending', message };
};
