import { needsUser } from '../../../../runtime/config/index.ts';
import type { SessionStoreReport } from '../../../../runtime/status/index.ts';
import { violationText } from '../../../validate/index.ts';
import { fact, problem, stalled, undecided } from '../../conditions.ts';
import type { PlannedCondition } from '../../plan.ts';
import { referenceConditions } from '../../references.ts';
import type { ServerSpec } from '../../server-spec.ts';
import { SCALED_TO_ZERO } from '../../workload/rollout-state.ts';
import { embeddingServerReady } from '../config/optimizer.ts';
import { callbackInCluster } from './login-callback.ts';
import { type Phase, refusalText } from './phase.ts';
import { type StatusInput, conditionsBefore, isAwaitingReports } from './status-input.ts';
import { audienceOfApiServer, sharedConditions } from './uniqueness.ts';

/** Computes a condition that is always present. */
export type Fact = (statusInput: StatusInput, phase: Phase) => PlannedCondition;
/** Computes a condition that is present while there is a problem; undefined without one. */
export type Problem = (statusInput: StatusInput) => PlannedCondition | undefined;

/** The conditions that a kind has beside those of all. */
export interface OwnConditions {
  readonly facts: readonly Fact[];
  readonly problems: readonly Problem[];
  /** Types of those problems that pods tell of. */
  readonly reported?: readonly string[];
}

/**
 * Conditions of every kind that the runtime serves; `docs/status.md` lists types and reasons. Facts are always there,
 * problems only while they exist (docs/decisions.md "Conditions").
 */
export const servedConditions = (
  statusInput: StatusInput,
  phase: Phase,
  { facts, problems, reported = [] }: OwnConditions,
): readonly PlannedCondition[] => [
  valid(statusInput),
  ...referenceConditions(statusInput.bundle.references),
  ...embeddingServerReady(statusInput.bundle.references),
  ...authServerConfigValidated(statusInput),
  ...[...facts, statusReachable, ready].map((condition) => condition(statusInput, phase)),
  ...[...problems, ...PROBLEMS].flatMap((condition) => condition(statusInput) ?? []),
  ...sharedConditions(statusInput.bundle.shared),
  ...keptConditions(statusInput, ['AuthServerUnavailable', 'ConfigRefused', 'SessionStoreAway', ...reported]),
  ...stalled(statusInput.newest.stalledBy),
];

const valid = ({ newest: { refusals } }: StatusInput): PlannedCondition => {
  const [first] = refusals;
  return first === undefined
    ? fact('Valid', true, 'Valid', 'the spec can be served')
    : fact('Valid', false, first.reason, refusalText(refusals));
};

/** docs/status.md "References"; there as soon as anything is said of an embedded authorization server. */
const authServerConfigValidated = ({ newest: { spec, violations } }: StatusInput): readonly PlannedCondition[] => {
  const wrong = violations.filter(({ path }) => ABOUT_AUTH_SERVER.some((start) => path.startsWith(start)));
  if (wrong.length > 0)
    return [fact('AuthServerConfigValidated', false, 'Invalid', wrong.map(violationText).join('; '))];
  if (spec.authServerConfig === undefined) return [];
  return [fact('AuthServerConfigValidated', true, 'Valid', 'the authorization server can be started')];
};

const ABOUT_AUTH_SERVER = [
  'spec.authServerConfig',
  'spec.authServerRef',
  'spec.incomingAuth.authzConfig.inline.primaryUpstreamProvider',
];

const ready: Fact = (_situation, { phase, reason, message }) =>
  fact('Ready', phase === 'Ready' || phase === 'Degraded' || reason === SCALED_TO_ZERO.reason, reason, message);

const statusReachable: Fact = (statusInput) => {
  const { reachable, unreachable } = statusInput.reports;
  if (unreachable.length > 0) {
    const message = `no answer on the management port of ${unreachable.join(', ')}; see the pod's log, and network policies between operator and pods`;
    return fact('StatusReachable', false, 'PodsUnreachable', message);
  }
  if (reachable > 0) return fact('StatusReachable', true, 'PodsAnswer', 'every pod answers');
  const before = conditionsBefore(statusInput).find(({ type }) => type === 'StatusReachable');
  return isAwaitingReports(statusInput) && before !== undefined
    ? before
    : undecided('StatusReachable', 'NoPodsAsked', 'no pod has been asked yet');
};

/** Those of the spec, or those that an autoscaler has asked for. */
const replicasOf = ({ newest: { spec }, bundle }: StatusInput): number => {
  const live = bundle.children.deployment?.['spec'] as { readonly replicas?: number } | undefined;
  return spec.replicas ?? live?.replicas ?? 1;
};

const sessionsNotDurable: Problem = (statusInput) => {
  const { newest, settings } = statusInput;
  const { spec } = newest;
  if (settings.local !== undefined) return undefined;
  const replicas = replicasOf(statusInput);
  if (replicas <= 1 || isStoreShared(spec)) return undefined;
  const message = `${replicas} replicas keep sessions each for itself; use sessionStorage.provider kvstore, or one replica`;
  return problem('SessionsNotDurable', 'MemoryStorage', message);
};

/** docs/authorization-server.md "Storage" and "Keys". */
const loginsNotDurable: Problem = (statusInput) => {
  const { authServerConfig } = statusInput.newest.spec;
  if (authServerConfig === undefined || statusInput.settings.local !== undefined) return undefined;
  const replicas = replicasOf(statusInput);
  if (replicas > 1 && authServerConfig.storage?.type !== 'kvstore') {
    const message = `${replicas} replicas keep logins and tokens each for itself, so that users cannot sign in; use storage.type kvstore for the authorization server, or one replica`;
    return problem('LoginsNotDurable', 'MemoryStorage', message);
  }
  const { signingKeySecretRefs = [], hmacSecretRefs = [] } = authServerConfig;
  const missing = [
    ...(signingKeySecretRefs.length === 0 ? ['signingKeySecretRefs'] : []),
    ...(hmacSecretRefs.length === 0 ? ['hmacSecretRefs'] : []),
  ];
  if (missing.length === 0) return undefined;
  const message = `without ${missing.join(' and ')} the authorization server makes keys at its start, and all users have to sign in again when its pods have ended; name Secrets`;
  return problem('LoginsNotDurable', 'KeysNotNamed', message);
};

/** docs/decisions.md "Limits per replica". The replica count of an autoscaler is not known in advance. */
const limitsPerReplica: Problem = ({ newest: { spec }, settings }) => {
  if (settings.local !== undefined || spec.config?.['rateLimiting'] === undefined) return undefined;
  if (isStoreShared(spec) || (spec.replicas ?? Infinity) <= 1) return undefined;
  const message =
    'each replica counts calls for itself, so that the limits hold once for every one of them; use sessionStorage.provider kvstore, or replicas: 1';
  return problem('LimitsPerReplica', 'MemoryStorage', message);
};

const isStoreShared = ({ sessionStorage, config }: ServerSpec): boolean =>
  (sessionStorage ?? config?.sessionStorage)?.provider === 'kvstore';

/**
 * The operator checks what it renders with the runtime's own code, so this condition indicates pods of another version.
 */
const configRefused: Problem = ({ reports: { refused } }) => {
  if (refused.size === 0) return undefined;
  const each = [...refused].map(([pod, problems]) => `pod ${pod}: ${problems.join('; ')}`);
  return problem('ConfigRefused', 'PodServesOlderConfig', each.join('\n'));
};

const sessionStoreAway: Problem = ({ reports: { storeTroubles } }) => {
  if (storeTroubles.size === 0) return undefined;
  const each = [...storeTroubles].map(([pod, { state, reason }]) => `pod ${pod}: ${reason ?? state}`);
  const message = `requests that need the session store are refused: ${each.join('; ')}; see docs/sessions.md`;
  return problem(
    'SessionStoreAway',
    [...storeTroubles.values()].some(isDown) ? 'NoAnswer' : 'CommandsRefused',
    message,
  );
};

const authServerUnavailable: Problem = ({ reports: { authServerTroubles } }) => {
  if (authServerTroubles.size === 0) return undefined;
  const each = [...authServerTroubles].map(([pod, { state, reason }]) => `pod ${pod}: ${reason ?? state}`);
  const message = `nobody can sign in, and no token is refreshed: ${each.join('; ')}; see docs/authorization-server.md`;
  const hasKeys = [...authServerTroubles.values()].every(({ state }) => state !== 'keys-unusable');
  return problem('AuthServerUnavailable', hasKeys ? 'NoAnswer' : 'KeysUnusable', message);
};

const isDown = ({ state }: SessionStoreReport): boolean => state === 'down';

/**
 * As `vmcp validate` warns of it. Such backends are contacted all the same: checks do without a user's token, and what
 * relays credentials takes it from another runtime.
 */
const backendsNeedUsers: Problem = ({ newest: { spec, backends } }) => {
  if (spec.incomingAuth.type !== 'anonymous' || spec.relaysCredentials === true) return undefined;
  const needing = backends.filter(({ withheld, strategy, typeInConfig }) => {
    return withheld === undefined && needsUser(strategy?.['type'] ?? typeInConfig);
  });
  if (needing.length === 0) return undefined;
  const each = needing.map(({ name, auth, typeInConfig }) => `${name} (${auth?.type ?? typeInConfig})`).join(', ');
  const remedy = spec.isFront === true ? 'set oidcConfigRef' : 'set incomingAuth.type to oidc';
  const message = `every call of ${each} fails: the credential is made from a token of the user who is calling, and anonymous callers have none; ${remedy}`;
  return problem('BackendsNeedUsers', 'AnonymousAccess', message);
};

const audienceShared: Problem = ({ newest: { spec }, settings }) => audienceOfApiServer(spec, settings);

const PROBLEMS: readonly Problem[] = [
  sessionsNotDurable,
  loginsNotDurable,
  callbackInCluster,
  limitsPerReplica,
  backendsNeedUsers,
  sessionStoreAway,
  authServerUnavailable,
  configRefused,
  audienceShared,
];

/** The conditions of these types, which come from pods, stay until a pod is asked again. */
const keptConditions = (statusInput: StatusInput, types: readonly string[]): readonly PlannedCondition[] =>
  isAwaitingReports(statusInput) ? conditionsBefore(statusInput).filter(({ type }) => types.includes(type)) : [];
