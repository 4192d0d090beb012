import { hasOwnClients } from '../../crds/index.ts';
import { type KubeObject, type ObjectKey, keyOf } from '../object.ts';
import { type Contract, newContract } from '../plan/contract.ts';
import { planFrontedServer } from '../plan/front/plan-fronted-server.ts';
import type { Mac } from '../plan/mac.ts';
import { type McpServerBundle, planMcpServer, verdictOnServer } from '../plan/mcp-server/plan-mcp-server.ts';
import { isBridged, mcpServerSpec } from '../plan/mcp-server/spec.ts';
import { WITHOUT_DEGRADED } from '../plan/plan.ts';
import type { ServerBundle } from '../plan/server/bundle.ts';
import { isRuntime } from '../plan/server/objects/pod-template.ts';
import { type Child, childOf } from '../plan/workload/child.ts';
import type { RunningWorkload } from '../plan/workload/running-workload.ts';
import {
  foreignAt,
  ownedBy,
  resolveDeployment,
  resolveStatefulSet,
  withPodCreationFailure,
} from '../read/resolve-workload.ts';
import { SERVED_KINDS, resolveReferences, resolveServed } from '../read/resolve.ts';
import type { Source } from '../read/source.ts';
import type { Reads, ReconciledKind } from './kind.ts';
import { type Targets, memoizedTargets, namingOf } from './referrers.ts';
import { mayServeAcceptedSpec, sharingServersOf, withPolicies } from './served.ts';

const KIND = 'MCPServer';

/** An MCPServer, and the runtime in front of it where it has clients of its own, or had and that still runs. */
export interface McpServerView extends McpServerBundle {
  readonly front?: ServerBundle;
}

export const mcpServer = (
  contract: Contract = newContract(),
  targetsOf: Targets = memoizedTargets(),
): ReconciledKind<McpServerView> => {
  const { named, affectedBy } = namingOf(KIND, targetsOf, mayServeAcceptedSpec(['GroupResolved', 'SecretResolved']));
  return {
    kind: KIND,
    owns: [
      'ServiceAccount',
      'Role',
      'RoleBinding',
      'Service',
      'NetworkPolicy',
      'ConfigMap',
      'Deployment',
      'StatefulSet',
    ],
    reads: [...new Set([...named, ...SERVED_KINDS.filter((kind) => kind !== KIND), 'ReplicaSet', 'Pod'])],
    phasesWithProblems: WITHOUT_DEGRADED,
    resolve: (source, { namespace, name }, mac) => {
      const server = source.get(KIND, namespace, name);
      if (server === undefined || server.metadata.deletionTimestamp !== undefined) return undefined;
      const front = frontOf(source, server, mac);
      return Object.freeze({
        server,
        references: resolveReferences(source, server),
        workload: workloadOf(source, server, childOf(server)),
        service: ownedBy(source, server, { kind: 'Service', name: childOf(server).name }),
        ...(front && { front }),
      });
    },
    complete: async (bundle, reads) => {
      const { workload, front } = bundle;
      return front === undefined
        ? { ...bundle, workload: await withPodCreationFailure(workload, reads.podCreationFailure) }
        : { ...bundle, front: await completeFront(front, reads) };
    },
    plan: ({ front, ...direct }, settings) =>
      // No runtime is made in front of what runs elsewhere.
      front === undefined || settings.local !== undefined || !isFronted(direct, contract)
        ? planMcpServer(direct, { settings, contract })
        : planFrontedServer(front, { settings, contract }),
    affectedBy: (source, changed) => [
      ...sharingServersOf(KIND, source, changed),
      ...affectedBy(source, changed),
      ...ownersOfBackendService(source, changed),
    ],
  };
};

/** With clients of its own it has the vmcp runtime in front, and keeps it while a spec without them is refused. */
const isFronted = (direct: McpServerBundle, contract: Contract): boolean =>
  hasOwnClients(mcpServerSpec(direct.server)) || verdictOnServer(direct, contract).complaints.length > 0;

const completeFront = async (front: ServerBundle, reads: Reads): Promise<ServerBundle> => {
  const backendWorkload =
    front.backendWorkload && (await withPodCreationFailure(front.backendWorkload, reads.podCreationFailure));
  return withPolicies({ ...front, ...(backendWorkload && { backendWorkload }) }, reads);
};

const frontOf = (source: Source, server: KubeObject, mac?: Mac): ServerBundle | undefined => {
  const { namespace = '', name } = server.metadata;
  const deployment = ownedBy(source, server, { kind: 'Deployment', name: childOf(server).name });
  const hasRuntime = deployment !== undefined && isRuntime(server, deployment);
  if (!hasRuntime && !hasOwnClients(mcpServerSpec(server))) return undefined;
  const front = resolveServed(source, { kind: KIND, namespace, name }, mac);
  if (front === undefined) return undefined;
  const behind = childOf(server, 'backend');
  const exposedController = exposedControllerOf(source, front);
  const foreign = foreignAt(source, server, { kind: 'Service', name: behind.name });
  return Object.freeze({
    ...front,
    backendWorkload: workloadOf(source, server, behind),
    bypassWorkloads: bypassWorkloadsOf(source, front),
    // A spec that a runtime had before this container ran is not a last good spec.
    ...(exposedController && { exposedController, accepted: undefined }),
    foreignServices: foreign === undefined ? [] : [foreign],
  });
};

const bypassWorkloadsOf = (source: Source, { server, children }: ServerBundle): readonly KubeObject[] => {
  const { deployment, pods } = children;
  const before = ownedBy(source, server, { kind: 'StatefulSet', name: childOf(server).name });
  return [deployment, before, ...pods].flatMap((each) => (each === undefined || isRuntime(server, each) ? [] : [each]));
};

/** A Deployment that is not the runtime, or the StatefulSet that comes before a Deployment. */
const exposedControllerOf = (source: Source, { server, children }: ServerBundle): KubeObject | undefined => {
  const { deployment } = children;
  if (deployment !== undefined) return isRuntime(server, deployment) ? undefined : deployment;
  return ownedBy(source, server, { kind: 'StatefulSet', name: childOf(server).name });
};

/** The MCPServer whose container a Service of this name would select, whether the Service is ours or foreign. */
const ownersOfBackendService = (source: Source, { kind, metadata }: KubeObject): readonly ObjectKey[] => {
  const [, name] = (kind === 'Service' && /^mcpserver-(.+)-backend$/.exec(metadata.name)) || [];
  const server = name === undefined ? undefined : source.get(KIND, metadata.namespace ?? '', name);
  return server === undefined ? [] : [keyOf(server)];
};

/**
 * The workload that runs its container; while there is none of the kind that the newest spec asks for, the earlier one.
 */
const workloadOf = (source: Source, server: KubeObject, { name }: Child): RunningWorkload => {
  const wanted = isBridged(mcpServerSpec(server)) ? resolveStatefulSet : resolveDeployment;
  const found = wanted(source, server, name);
  const before = wanted === resolveStatefulSet ? resolveDeployment : resolveStatefulSet;
  return found.controller === undefined ? before(source, server, name) : found;
};
