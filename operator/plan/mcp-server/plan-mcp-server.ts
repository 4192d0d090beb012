import type { KubeObject } from '../../object.ts';
import type { Contract } from '../contract.ts';
import type { Plan } from '../plan.ts';
import { type ResolvedReference, referenceConditions } from '../references.ts';
import { type Settings, mappedUrl } from '../settings.ts';
import { stalled } from '../stalled.ts';
import { type Verdict, validCondition, verdictOn } from '../verdict.ts';
import { childOf } from '../workload/child.ts';
import { service as serviceOf } from '../workload/objects.ts';
import { leadsTo } from '../workload/pods-of.ts';
import type { RunningWorkload } from '../workload/running-workload.ts';
import { type Standing, eventsOf, readyCondition, standingOf, workloadStatus } from '../workload/standing.ts';
import { planWithoutCluster } from '../workload/without-cluster.ts';
import { ownFields, writtenSpec } from '../written-spec.ts';
import { ignoredFields } from './ignored-fields.ts';
import { mcpServerObjects } from './objects.ts';
import { mcpServerSpec } from './spec.ts';
import { isBridged, pathServed, urlAt } from './transport.ts';

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
  const standing = standingOf({
    workload: reached,
    complaints,
    replicas: spec.replicas,
    statefulSet: isBridged(spec) ? child.name : undefined,
  });
  const conditions = [
    validCondition(verdict, 'the server can be run'),
    ...referenceConditions(references),
    ...ignoredFields(spec),
    readyCondition(standing),
    ...stalled(verdict.stalledBy),
  ];
  const { state, message } = standing;
  const url = urlAt(child, pathServed(workload.controller, spec), settings);
  return {
    // A spec that cannot be run leaves what runs as it is.
    ...(complaints.length === 0
      ? {
          objects: mcpServerObjects(spec, child, { settings, controller: workload.controller }),
          // What a runtime in front of it was told before is no spec to go back to.
          ...(generation !== undefined && { acceptedGeneration: generation }),
        }
      : repairs.length > 0 && { repairs }),
    status: workloadStatus(server, standing, { phase: PHASES[state], message, url, conditions }),
    events: eventsOf(standing, conditions),
  };
};

/** The Service, where it waits for a runtime that never came while the container goes on: it leads there again. */
const repairsOf = ({ server, workload: { controller }, service }: McpServerBundle): readonly KubeObject[] => {
  if (controller === undefined || service === undefined || leadsTo(service, controller)) return [];
  const { sessionAffinity } = (service['spec'] ?? {}) as { readonly sessionAffinity?: string };
  return [serviceOf(childOf(server), { sessionAffinity })];
};

/** What speaks against running it as its newest spec says. */
export const verdictOnServer = ({ server, references }: McpServerBundle, contract: Contract): Verdict =>
  verdictOn({ config: server, references }, contract, ownFields(server, writtenSpec(server)));

/** docs/workloads.md "Status" */
const PHASES: Readonly<Record<Standing['state'], string>> = {
  refused: 'Failed',
  stopped: 'Stopped',
  stuck: 'Failed',
  starting: 'Pending',
  serving: 'Ready',
};
