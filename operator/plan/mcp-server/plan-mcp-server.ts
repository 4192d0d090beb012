import type { KubeObject } from '../../object.ts';
import type { Contract } from '../contract.ts';
import type { Plan } from '../plan.ts';
import { type ResolvedReference, referenceConditions } from '../references.ts';
import type { Settings } from '../settings.ts';
import { validCondition, verdictOn } from '../shared-config.ts';
import { childOf } from '../workload/child.ts';
import { type RunningWorkload, type Standing, eventsOf, readyCondition, standingOf } from '../workload/standing.ts';
import type { ServerBundle } from '../server/bundle.ts';
import { writtenSpec } from '../server/spec.ts';
import { ownFields } from '../server/workload.ts';
import { planFrontedServer } from '../front/plan-fronted-server.ts';
import { planWithoutCluster } from '../workload/without-cluster.ts';
import { bridgedObjects } from './bridged.ts';
import { containerObjects } from './container.ts';
import { ignoredFields } from './ignored-fields.ts';
import { mcpServerSpec } from './spec.ts';
import { isBridged, mcpServerUrl } from './way.ts';

/** An MCPServer, what it refers to, and what the cluster has of it. */
export interface McpServerBundle {
  readonly server: KubeObject;
  readonly references: readonly ResolvedReference[];
  /** The pods of its container. */
  readonly workload: RunningWorkload;
  /** The runtime in front of it; absent where it has no clients of its own. */
  readonly front?: ServerBundle;
}

export interface McpServerDeps {
  readonly settings: Settings;
  readonly contract: Contract;
}

/** No reference holds it up: a group only lists it, and a missing Secret is missed by the container alone. */
export const planMcpServer = (bundle: McpServerBundle, { settings, contract }: McpServerDeps): Plan => {
  const { server, references, workload, front } = bundle;
  const url = mcpServerUrl(server, settings);
  if (settings.local !== undefined) return planWithoutCluster(server, url, referenceConditions(references));
  if (front !== undefined) return planFrontedServer(front, { settings, contract });
  const spec = mcpServerSpec(server);
  const verdict = verdictOn({ config: server, references }, contract, ownFields(server, writtenSpec(server)));
  const { complaints } = verdict;
  const standing = standingOf({ workload, complaints, replicas: spec.replicas });
  const conditions = [
    validCondition(verdict, 'the server can be run'),
    ...referenceConditions(references),
    ...ignoredFields(spec),
    readyCondition(standing),
  ];
  const { generation } = server.metadata;
  return {
    // A spec that cannot be run leaves what runs as it is.
    ...(complaints.length === 0 && { objects: objectsOf(bundle, settings) }),
    status: {
      phase: PHASES[standing.state],
      message: standing.message,
      ...(url !== undefined && { url }),
      readyReplicas: standing.readyReplicas,
      ...(generation !== undefined && { observedGeneration: generation }),
      conditions,
    },
    events: eventsOf(standing, conditions),
  };
};

const objectsOf = ({ server, workload }: McpServerBundle, settings: Settings): readonly KubeObject[] => {
  const spec = mcpServerSpec(server);
  const child = childOf(server);
  if (!isBridged(spec)) return containerObjects(spec, child);
  return bridgedObjects(spec, child, { settings, controller: workload.controller });
};

/** spec: MCPServer status.phase */
const PHASES: Readonly<Record<Standing['state'], string>> = {
  refused: 'Failed',
  stopped: 'Stopped',
  stuck: 'Failed',
  starting: 'Pending',
  serving: 'Ready',
};
