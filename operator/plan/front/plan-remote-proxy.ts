import { fieldsOf } from '../../../crds/index.ts';
import type { Plan } from '../plan.ts';
import { referenceConditions } from '../references.ts';
import type { ServerBundle } from '../server/bundle.ts';
import type { ServerSpec } from '../server-spec.ts';
import { configNamed } from '../server/config/named-auth.ts';
import type { WrittenInput } from '../server/config/part.ts';
import { relaysCredentials } from '../server/config/proxy-auth.ts';
import type { PlanDeps } from '../server/config/render.ts';
import { type ServedShape, planServed } from '../server/plan-served.ts';
import { mappedUrl } from '../settings.ts';
import { planWithoutCluster } from '../workload/without-cluster.ts';
import { frontConditions, lastReported } from './front-conditions.ts';
import { frontPhase } from './front-phase.ts';
import { frontSpec } from './front-spec.ts';
import { remoteBackend } from './remote-backend.ts';

/** An MCPRemoteProxy: the runtime in front of one server that runs elsewhere. */
export const planRemoteProxy = (bundle: ServerBundle, deps: PlanDeps): Plan =>
  deps.settings.local === undefined ? planServed(bundle, REMOTE_PROXY, deps) : planLocal(bundle, deps);

const asFront = frontSpec([
  'podTemplateSpec',
  'replicas',
  'resources',
  'serviceAccount',
  'sessionAffinity',
  'sessionStorage',
]);

const proxySpec = (input: WrittenInput): ServerSpec => {
  const written = fieldsOf(['MCPRemoteProxy'], { spec: input.written });
  const { auth } = configNamed(written.externalAuthConfigRef?.name ?? '', input.references);
  return { ...asFront(input), ...(relaysCredentials(written, auth) && { relaysCredentials: true }) };
};

const REMOTE_PROXY: ServedShape = {
  specOf: proxySpec,
  backendsOf: (bundle, input, deps) => ({
    group: { group: undefined, members: [] },
    backends: [remoteBackend(bundle, input, deps)],
  }),
  phaseOf: frontPhase,
  conditionsOf: frontConditions,
  statusOf: (_situation, common) => common,
  lastReported,
};

const planLocal = ({ server, references }: ServerBundle, { settings }: PlanDeps): Plan =>
  planWithoutCluster(server, mappedUrl(settings, server.metadata.name), referenceConditions(references));
