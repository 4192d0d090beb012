import type { KubeObject } from '../../object.ts';
import type { BridgedDeps } from '../mcp-server/bridged.ts';
import { ignoredFields } from '../mcp-server/ignored-fields.ts';
import { mcpServerObjects } from '../mcp-server/objects.ts';
import { type McpServerSpec, mcpServerSpec } from '../mcp-server/spec.ts';
import { isBridged, pathServed, urlAt } from '../mcp-server/transport.ts';
import type { Plan } from '../plan.ts';
import type { ServerBundle } from '../server/bundle.ts';
import type { Value } from '../server/config/part.ts';
import type { PlanDeps } from '../server/config/render.ts';
import { type ServedShape, planServed } from '../server/plan-served.ts';
import type { Phase } from '../server/status/phase.ts';
import { type Situation, reachedInTheOpen, runtimesOf } from '../server/status/situation.ts';
import { childOf } from '../workload/child.ts';
import { readyIn } from '../workload/running-workload.ts';
import { type Standing, standingOf } from '../workload/standing.ts';
import { admitFront } from './admit-front.ts';
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
  objectsOf: ({ server, behind }, { written }, settings) =>
    objectsBehind({ ...server, spec: written }, { settings, controller: behind?.controller }),
  phaseOf,
  conditionsOf: (situation, phase) => [
    ...frontConditions(situation, phase),
    ...ignoredFields(mcpServerSpec(situation.bundle.server)),
  ],
  whileNotApplied,
  statusOf: (situation, common) => ({ ...common, ...url(situation), readyReplicas: readyReplicas(situation) }),
  lastReported,
};

/** The policy comes before the pods that it guards. */
const objectsBehind = (server: KubeObject, deps: BridgedDeps): readonly KubeObject[] => {
  const behind = childOf(server, 'backend');
  // Clients are told apart by the front; its own connections have to stay with the container that knows their sessions.
  const spec: McpServerSpec = { ...mcpServerSpec(server), sessionAffinity: 'ClientIP' };
  return [admitFront(behind), ...mcpServerObjects(spec, behind, deps)];
};

function phaseOf(situation: Situation): Phase {
  const phase = frontPhase(situation);
  if (phase.reason === 'NothingToServe' || phase.reason === 'ReferenceMissing') return phase;
  const { state, reason, message } = standingBehind(situation);
  const told = `the container: ${message}`;
  if (phase.reason === 'ScaledToZero') return { ...phase, phase: 'Stopped' };
  if (state === 'stopped') return { phase: 'Stopped', reason, message: told };
  if (state === 'stuck') return { phase: 'Failed', reason, message: told };
  if (reason === 'PodsCannotStart') return { ...phase, message: `${phase.message}; ${told}` };
  return state === 'starting' && phase.phase === 'Ready' ? { phase: 'Pending', reason, message: told } : phase;
}

const NOTHING = { controller: undefined, replicaSets: [], pods: [] } as const;

const standingBehind = ({ bundle, newest, served }: Situation): Standing => {
  const { written, spec } = served ?? newest;
  return standingOf({
    workload: bundle.behind ?? NOTHING,
    complaints: [],
    replicas: spec.replicas,
    statefulSet: isBridged(mcpServerSpec({ ...bundle.server, spec: written }))
      ? childOf(bundle.server, 'backend').name
      : undefined,
  });
};

/** Where no runtime stands in front yet, the container is reached as before. */
const url = (situation: Situation): Value => {
  const { bundle, settings } = situation;
  const reached = reachedInTheOpen(situation);
  return reached === undefined
    ? {}
    : { url: urlAt(childOf(bundle.server), pathServed(reached, mcpServerSpec(bundle.server)), settings) };
};

/** A call needs both; where no runtime stands in front yet, the container alone. */
const readyReplicas = (situation: Situation): number => {
  const { bundle } = situation;
  const reached = reachedInTheOpen(situation);
  if (reached !== undefined) return readyIn(reached);
  return Math.min(runtimesOf(bundle, readyIn(bundle.children.deployment)), standingBehind(situation).readyReplicas);
};
