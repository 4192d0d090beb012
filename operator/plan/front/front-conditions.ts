import type { BackendReport, BackendStatus } from '../../../runtime/status/index.ts';
import { type KubeObject, keyOf } from '../../object.ts';
import { conditionsIn, fact, problem, undecided } from '../conditions.ts';
import type { Plan, PlannedCondition } from '../plan.ts';
import type { Reason } from '../reasons.ts';
import { policiesOf } from '../server/config/policies.ts';
import { service } from '../server/objects/children.ts';
import type { Phase } from '../server/status/phase.ts';
import { isRoutable } from '../server/status/reports.ts';
import { type Fact, type Problem, servedConditions } from '../server/status/served-conditions.ts';
import { type StatusInput, bypassesRuntime, exposedWorkload } from '../server/status/status-input.ts';

export const frontConditions = (statusInput: StatusInput, phase: Phase): readonly PlannedCondition[] =>
  servedConditions(statusInput, phase, {
    facts: [backendReachable],
    problems: [servesWithoutAuth, policiesNotEnforced, primaryUpstreamIgnored],
  });

const TYPE = 'BackendReachable';

/** What pods say of the one backend: the reason is the status, so that it can be read back. */
const REASONS: Readonly<Record<BackendStatus, Reason>> = {
  ready: 'BackendAnswers',
  unauthenticated: 'LoginNeeded',
  degraded: 'BackendDegraded',
  unavailable: 'BackendUnavailable',
  unknown: 'NotReported',
};

const backendReachable: Fact = ({ newest, served, backends }) => {
  const [withheld] = (served ?? newest).backends.flatMap((backend) => backend.withheld ?? []);
  if (withheld !== undefined) return fact(TYPE, false, withheld.reason, withheld.message);
  const { status, message } = backends[0] ?? { status: 'unknown' };
  const words = message ?? WORDS[status];
  return status === 'unknown'
    ? undecided(TYPE, REASONS[status], words)
    : fact(TYPE, isRoutable(status), REASONS[status], words);
};

const WORDS: Readonly<Record<BackendStatus, string>> = {
  ready: 'the server behind it answers',
  unauthenticated: 'the server behind it answers, and wants a login',
  degraded: 'the server behind it does not answer every time',
  unavailable: 'the server behind it does not answer',
  unknown: 'no pod has told yet',
};

/** What status said last of the backend, which has no field of its own there. */
export const lastReported = (server: KubeObject): ReadonlyMap<string, BackendReport> | undefined => {
  const said = conditionsIn(server['status']).find(({ type }) => type === TYPE);
  const known = Object.entries(REASONS).find(([, reason]) => reason === said?.reason);
  if (said === undefined || known === undefined) return undefined;
  const { name } = server.metadata;
  const status = known[0] as BackendStatus;
  const message = said.message === WORDS[status] ? {} : { message: said.message };
  return new Map([[name, { name, status, consecutiveFailures: 0, toolCount: 0, ...message }]]);
};

/** docs/decisions.md "Upstream provider for policies" */
const primaryUpstreamIgnored: Problem = ({ bundle: { server, references }, newest: { spec } }) => {
  const { authzConfig } = spec.incomingAuth;
  const named = authzConfig && policiesOf(authzConfig, references).policies?.primaryUpstreamProvider;
  return named === undefined || named === ''
    ? undefined
    : problem(
        'AuthzPrimaryUpstreamProviderIgnored',
        'OneUpstreamAtMost',
        `policies name the upstream provider ${named}, which is ignored: an ${server.kind} has one at most, and they see its claims; remove primaryUpstreamProvider`,
      );
};

/**
 * docs/decisions.md "Last good spec": pods keep running while the newest spec cannot be served, also those that
 * authenticate no caller. Their readiness does not count: they may be ready the next moment, and would get credentials.
 */
const servesWithoutAuth: Problem = (statusInput) => {
  const { bundle, served } = statusInput;
  // A pod template stored before labels of vmcp.dev were refused may carry the runtime's.
  if (served !== undefined)
    return bypassesRuntime(service(bundle.server, served.spec), bundle) ? PODS_WITHOUT_RUNTIME : undefined;
  const message =
    'the container runs with no runtime in front, as before, and everybody may connect: callers, policies and limits count once the newest spec can be served; see the conditions Valid and Ready';
  return exposedWorkload(statusInput) && problem('ServesWithoutAuth', 'NewestSpecNotServed', message);
};

const PODS_WITHOUT_RUNTIME = problem(
  'ServesWithoutAuth',
  'PodsFromBefore',
  'its Service also leads to pods from before it had a runtime in front, until those are replaced; everybody may connect to them',
);

const SERVICE_BYPASSES_RUNTIME = problem(
  'ServesWithoutAuth',
  'ServiceNotChanged',
  'its Service still leads past the runtime to the container, and everybody may connect: callers, policies and limits count once it leads to the runtime alone; see the condition ChildRefused',
);

/** The Service leads to a container from before until it is changed, which the API server may refuse. */
export const whileNotApplied = (statusInput: StatusInput): NonNullable<Plan['whileNotApplied']> => {
  const { bundle, served } = statusInput;
  const { service: live } = bundle.children;
  if (live === undefined || served === undefined || servesWithoutAuth(statusInput) !== undefined) return [];
  return bypassesRuntime(live, bundle) ? [{ child: keyOf(live), condition: SERVICE_BYPASSES_RUNTIME }] : [];
};

/**
 * A rule refuses this spec, but earlier releases did not: the pods that they made keep running and authenticate no
 * caller.
 */
const policiesNotEnforced: Problem = ({ newest: { spec }, pods }) =>
  pods.isServing && spec.incomingAuth.type === 'anonymous' && spec.incomingAuth.authzConfig !== undefined
    ? problem(
        'PoliciesNotEnforced',
        'AnonymousAccess',
        'without oidcConfigRef everybody may connect to the pods that an earlier release made; set it',
      )
    : undefined;
