import type { KubeObject } from '../../object.ts';
import type { BridgedDeps } from '../mcp-server/bridged.ts';
import { ignoredFields } from '../mcp-server/ignored-fields.ts';
import { mcpServerObjects } from '../mcp-server/plan-mcp-server.ts';
import { type McpServerSpec, isBridged, mcpServerSpec, pathServed, urlAt } from '../mcp-server/spec.ts';
import type { Plan } from '../plan.ts';
import type { ServerBundle } from '../server/bundle.ts';
import type { Value } from '../server/config/part.ts';
import type { PlanDeps } from '../server/config/render.ts';
import { podLabelsOf } from '../server/objects/names.ts';
import { type ServedShape, planServed } from '../server/plan-served.ts';
import type { Phase } from '../server/status/phase.ts';
import { type StatusInput, exposedWorkload, runtimesOf } from '../server/status/status-input.ts';
import { type Child, childOf, labelsOfChild, metadataOfChild } from '../workload/child.ts';
import { PORT_NAME } from '../workload/objects.ts';
import { type RolloutState, rolloutStateOf } from '../workload/rollout-state.ts';
import { readyIn } from '../workload/running-workload.ts';
import { containerBackend } from './container-backend.ts';
import { frontConditions, lastReported, whileNotApplied } from './front-conditions.ts';
import { frontPhase } from './front-phase.ts';
import { frontSpec } from './front-spec.ts';

/** An MCPServer with clients of its own: the runtime in front of its container. */
export const planFrontedServer = (bundle: ServerBundle, deps: PlanDeps): Plan => planServed(bundle, FRONTED, deps);

const FRONTED: ServedShape = {
  // Account, resources and pod template are those of the container.
  specOf: frontSpec(['replicas', 'sessionAffinity', 'sessionStorage']),
  backendsOf: (bundle, input, deps) => ({
    group: { group: undefined, members: [] },
    backends: [containerBackend(bundle, input, deps)],
  }),
  objectsOf: ({ server, backendWorkload }, { written }, settings) =>
    backendObjects({ ...server, spec: written }, { settings, controller: backendWorkload?.controller }),
  phaseOf,
  conditionsOf: (statusInput, phase) => [
    ...frontConditions(statusInput, phase),
    ...ignoredFields(mcpServerSpec(statusInput.bundle.server)),
  ],
  whileNotApplied,
  statusOf: (statusInput, common) => ({ ...common, ...url(statusInput), readyReplicas: readyReplicas(statusInput) }),
  lastReported,
};

/** The policy comes before the pods that it guards. */
const backendObjects = (server: KubeObject, deps: BridgedDeps): readonly KubeObject[] => {
  const behind = childOf(server, 'backend');
  // The front knows the sessions of clients; its own connections have to stay with the container that knows their
  // sessions.
  const spec: McpServerSpec = { ...mcpServerSpec(server), sessionAffinity: 'ClientIP' };
  return [frontNetworkPolicy(behind), ...mcpServerObjects(spec, behind, deps)];
};

function phaseOf(statusInput: StatusInput): Phase {
  const phase = frontPhase(statusInput);
  if (phase.reason === 'NothingToServe' || phase.reason === 'ReferenceMissing') return phase;
  const { state, reason, message } = backendRolloutState(statusInput);
  const told = `the container: ${message}`;
  if (phase.reason === 'ScaledToZero') return { ...phase, phase: 'Stopped' };
  if (state === 'stopped') return { phase: 'Stopped', reason, message: told };
  if (state === 'stuck') return { phase: 'Failed', reason, message: told };
  if (reason === 'PodsCannotStart') return { ...phase, message: `${phase.message}; ${told}` };
  return state === 'starting' && phase.phase === 'Ready' ? { phase: 'Pending', reason, message: told } : phase;
}

const NOTHING = { controller: undefined, replicaSets: [], pods: [] } as const;

const backendRolloutState = ({ bundle, newest, served }: StatusInput): RolloutState => {
  const { written, spec } = served ?? newest;
  return rolloutStateOf({
    workload: bundle.backendWorkload ?? NOTHING,
    complaints: [],
    replicas: spec.replicas,
    statefulSet: isBridged(mcpServerSpec({ ...bundle.server, spec: written }))
      ? childOf(bundle.server, 'backend').name
      : undefined,
  });
};

/** Where no runtime stands in front yet, the container is reached as before. */
const url = (statusInput: StatusInput): Value => {
  const { bundle, settings } = statusInput;
  const reached = exposedWorkload(statusInput);
  return reached === undefined
    ? {}
    : { url: urlAt(childOf(bundle.server), pathServed(reached, mcpServerSpec(bundle.server)), settings) };
};

/** A call needs both; where no runtime stands in front yet, the container alone. */
const readyReplicas = (statusInput: StatusInput): number => {
  const { bundle } = statusInput;
  const reached = exposedWorkload(statusInput);
  if (reached !== undefined) return readyIn(reached);
  return Math.min(
    runtimesOf(bundle, readyIn(bundle.children.deployment)),
    backendRolloutState(statusInput).readyReplicas,
  );
};

/**
 * A NetworkPolicy that admits only the pods of the front to those behind it, which ask no caller for a token. It holds
 * where the network of the cluster enforces policies; probes come from the pod's own node, which no policy blocks.
 */
export const frontNetworkPolicy = (behind: Child): KubeObject => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: metadataOfChild(behind),
  spec: {
    podSelector: { matchLabels: labelsOfChild(behind) },
    policyTypes: ['Ingress'],
    ingress: [
      {
        from: [{ podSelector: { matchLabels: podLabelsOf(behind.owner) } }],
        ports: [{ port: PORT_NAME, protocol: 'TCP' }],
      },
    ],
  },
});
