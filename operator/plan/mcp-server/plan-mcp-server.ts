import type { KubeObject } from '../../object.ts';
import { stalled } from '../conditions.ts';
import type { Contract } from '../contract.ts';
import type { Plan } from '../plan.ts';
import { type ResolvedReference, referenceConditions } from '../references.ts';
import { type Settings, mappedUrl } from '../settings.ts';
import { type Verdict, validCondition, verdictOn } from '../verdict.ts';
import { type Child, childOf } from '../workload/child.ts';
import { service as serviceOf } from '../workload/objects.ts';
import {
  type RolloutState,
  eventsOf,
  readyCondition,
  rolloutStateOf,
  workloadStatus,
} from '../workload/rollout-state.ts';
import { type RunningWorkload, selects } from '../workload/running-workload.ts';
import { planWithoutCluster } from '../workload/without-cluster.ts';
import { type BridgedDeps, bridgedObjects } from './bridged.ts';
import { containerObjects } from './container.ts';
import { ignoredFields } from './ignored-fields.ts';
import { type McpServerSpec, isBridged, mcpServerSpec, pathServed, urlAt } from './spec.ts';

/** An MCPServer, what it refers to, and what the cluster has of it. */
export interface McpServerBundle {
  readonly server: KubeObject;
  readonly references: readonly ResolvedReference[];
  /** What runs its container, or did until the newest spec asked for pods of another kind. */
  readonly workload: RunningWorkload;
  /** As the cluster has it. */
  readonly service?: KubeObject | undefined;
}

export interface McpServerDeps {
  readonly settings: Settings;
  readonly contract: Contract;
}

/**
 * An MCPServer without clients of its own. No reference holds it up: a group only lists it, and a missing Secret is
 * missed by the container alone.
 */
export const planMcpServer = (bundle: McpServerBundle, { settings, contract }: McpServerDeps): Plan => {
  const { server, references, workload } = bundle;
  if (settings.local !== undefined)
    return planWithoutCluster(server, mappedUrl(settings, server.metadata.name), referenceConditions(references));
  const { generation } = server.metadata;
  const spec = mcpServerSpec(server);
  const child = childOf(server);
  const verdict = verdictOnServer(bundle, contract);
  const { complaints } = verdict;
  const repairs = complaints.length === 0 ? [] : repairsOf(bundle);
  const reached = repairs.length === 0 ? workload : { ...workload, controller: undefined };
  const rolloutState = rolloutStateOf({
    workload: reached,
    complaints,
    replicas: spec.replicas,
    statefulSet: isBridged(spec) ? child.name : undefined,
  });
  const conditions = [
    validCondition(verdict, 'the server can be run'),
    ...referenceConditions(references),
    ...ignoredFields(spec),
    readyCondition(rolloutState),
    ...stalled(verdict.stalledBy),
  ];
  const { state, message } = rolloutState;
  const url = urlAt(child, pathServed(workload.controller, spec), settings);
  return {
    // A spec that cannot be run leaves what runs as it is.
    ...(complaints.length === 0
      ? {
          objects: mcpServerObjects(spec, child, { settings, controller: workload.controller }),
          // The files of an earlier runtime in front are no spec to go back to.
          ...(generation !== undefined && { acceptedGeneration: generation }),
        }
      : repairs.length > 0 && { repairs }),
    status: workloadStatus(server, rolloutState, { phase: PHASES[state], message, url, conditions }),
    events: eventsOf(rolloutState, conditions),
  };
};

/** The Service, where it waits for a runtime that never came while the container goes on: it leads there again. */
const repairsOf = ({ server, workload: { controller }, service }: McpServerBundle): readonly KubeObject[] => {
  if (controller === undefined || service === undefined || selects(service, controller)) return [];
  const { sessionAffinity } = (service['spec'] ?? {}) as { readonly sessionAffinity?: string };
  return [serviceOf(childOf(server), { sessionAffinity })];
};

/** What speaks against running it as its newest spec says. */
export const verdictOnServer = ({ server, references }: McpServerBundle, contract: Contract): Verdict =>
  verdictOn({ config: server, references }, contract);

/** docs/workloads.md "Status" */
const PHASES: Readonly<Record<RolloutState['state'], string>> = {
  refused: 'Failed',
  stopped: 'Stopped',
  stuck: 'Failed',
  starting: 'Pending',
  serving: 'Ready',
};

/** What runs its container, in the order it is applied, as `child` names it. */
export const mcpServerObjects = (spec: McpServerSpec, child: Child, deps: BridgedDeps): readonly KubeObject[] =>
  isBridged(spec) ? bridgedObjects(spec, child, deps) : containerObjects(spec, child);
