import type { Access, Caller, CallRecord, PolicyDecision, Target, User } from '../../call/index.ts';
import type { Visibility } from '../../catalog/index.ts';
import type { Config, LiveConfig } from '../../config/index.ts';
import { VmcpError } from '../../errors.ts';
import type { Log, Meter } from '../../observe/index.ts';
import type { Clock } from '../../process/index.ts';
import type { ExaminedPolicies } from '../examine.ts';
import type { Gate } from '../gate.ts';
import { Decisions } from './callers.ts';
import type { CedarFailure } from './engine.ts';
import { type Claims, claimsOf, type ClaimsOf, type UpstreamClaims } from './claims.ts';
import { type PolicyMetrics, policyMetrics, showCallerClasses } from './policy-metrics.ts';
import { principalIdAmong } from './principal-id.ts';
import { policyLog } from './policy-log.ts';
import { openPolicySet, type PolicySettings } from './policy-set.ts';

export interface PolicyGateDeps {
  readonly config: LiveConfig;
  readonly log: Pick<Log, 'info' | 'warn' | 'error' | 'debug'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Milliseconds, for durations. */
  readonly steadyNow: () => number;
  readonly meter: Meter;
  /** Absent: there is no authorization server whose users have tokens of upstream providers. */
  readonly upstreamClaims?: UpstreamClaims | undefined;
}

/** The policies in force. */
interface InForce {
  readonly decisions: Decisions;
  readonly claimsOf: ClaimsOf;
  readonly close: () => void;
}

interface PolicyConfig extends Pick<Config, 'name' | 'incomingAuth'> {
  readonly extensions: Pick<Config['extensions'], 'issuers'>;
}

interface GateSettings extends PolicySettings {
  readonly provider: string | undefined;
  /** Issuers beside the first one. */
  readonly furtherIssuers: readonly string[];
}

/** The part of the configuration that says what policies there are; undefined: none are evaluated. */
export const policySettingsOf = ({ name, incomingAuth, extensions }: PolicyConfig): GateSettings | undefined => {
  const { type, authz } = incomingAuth;
  // docs/decisions.md "Anonymous access"
  if (type === 'anonymous' || authz === undefined || authz.type === 'none') return undefined;
  const { policies = [], entitiesJson, primaryUpstreamProvider: provider } = authz;
  const furtherIssuers = extensions.issuers.map(({ issuer }) => issuer);
  return { policies, entitiesJson, server: name, provider, furtherIssuers };
};

/**
 * Authorization by policies (docs/policies.md). A configuration with policies that cannot be used is refused, so that
 * the earlier ones stay in force.
 */
export const policyGate = (
  deps: PolicyGateDeps,
): Required<Pick<Gate, 'authorize' | 'policies' | 'visible' | 'examinePolicies'>> => {
  const record = recordOf(deps);
  const inForce = policiesInForce(deps, record);
  showCallerClasses(deps.meter, () => inForce()?.decisions.callers ?? 0);
  const decided = (access: Access, target: Target, known: KnownOrNot): PolicyDecision => {
    const policies = inForce();
    if (!policies) return NOT_ASKED;
    const { user, claims } = known;
    if (claims) return policies.decisions.decide(access, target, { user, claims });
    record.noClaims();
    return NOTHING_APPLIES;
  };
  const authorize = (access: Access, target: Target, call?: CallRecord): void | Promise<void> => {
    const policies = inForce();
    if (!policies || isOfRuntime(target)) return;
    const { caller: user } = access;
    if (user.kind !== 'user') return refuse(NOTHING_APPLIES, call);
    const decide = (claims: Claims | undefined): void => {
      const decision = decided(access, target, { user, claims });
      record.decided(decision);
      if (!decision.isAllowed) return refuse(decision, call);
      if (call) call.decision = decision;
    };
    const claims = policies.claimsOf(user);
    return claims instanceof Promise ? claims.then(decide) : decide(claims);
  };
  const visible = (caller: Caller): Visibility | undefined | Promise<Visibility | undefined> => {
    const policies = inForce();
    if (!policies) return undefined;
    if (caller.kind !== 'user') return NOTHING_VISIBLE;
    const see = (claims: Claims | undefined): Visibility =>
      claims ? withOwnTools(policies.decisions.visibility(caller, claims)) : NOTHING_VISIBLE;
    const claims = policies.claimsOf(caller);
    return claims instanceof Promise ? claims.then(see) : see(claims);
  };
  const examinePolicies = async (access: Access, target: Target): Promise<ExaminedPolicies | undefined> => {
    const policies = inForce();
    if (!policies) return undefined;
    const { caller: user } = access;
    const claims = user.kind === 'user' ? await policies.claimsOf(user) : undefined;
    // They may have been replaced meanwhile.
    if (inForce() !== policies) return examinePolicies(access, target);
    if (user.kind !== 'user' || !claims) return { ...NOTHING_EXAMINED, isWithoutClaims: user.kind === 'user' };
    return { ...policies.decisions.examine(access, target, { user, claims }), isWithoutClaims: false };
  };
  return { authorize, policies: inForce, visible, examinePolicies };
};

/** Where decisions and failures go, beside the answer: the log and the metrics. */
interface PolicyRecord extends Pick<PolicyMetrics, 'decided'> {
  readonly metrics: PolicyMetrics;
  readonly noClaims: () => void;
  readonly failed: (error: CedarFailure) => void;
}

const recordOf = ({ log, clock, meter, steadyNow }: PolicyGateDeps): PolicyRecord => {
  const tell = policyLog(log, clock.now);
  const metrics = policyMetrics(meter, steadyNow);
  return {
    metrics,
    noClaims: tell.noClaims,
    decided: (decision) => {
      metrics.decided(decision);
      tell.decision(decision);
    },
    failed: (error) => {
      metrics.engineFailed();
      tell.failure(error);
    },
  };
};

const policiesInForce = (
  { config, upstreamClaims }: PolicyGateDeps,
  { metrics, failed }: PolicyRecord,
): (() => InForce | undefined) =>
  config.live(
    policySettingsOf,
    (settings): InForce | undefined => {
      if (!settings) return undefined;
      const set = openPolicySet(settings, { onFailure: failed });
      const ofUser = claimsOf(settings.provider, upstreamClaims);
      const decisions = new Decisions(set, metrics, principalIdAmong(settings.furtherIssuers));
      return { decisions, claimsOf: ofUser, close: set.close };
    },
    (policies) => policies?.close(),
  );

interface KnownOrNot {
  readonly user: User;
  readonly claims: Claims | undefined;
}

/** The policies are gone while the claims were fetched. */
const NOT_ASKED: PolicyDecision = { isAllowed: true, policies: [], failed: [], dryRun: [] };
const NOTHING_APPLIES: PolicyDecision = { isAllowed: false, policies: [], failed: [], dryRun: [] };
const NOTHING_EXAMINED = { decision: NOTHING_APPLIES, concerned: [], claims: [], args: [], missingClaims: [] };
const NOTHING_VISIBLE: Visibility = { key: 'nobody', isVisible: () => false };

/**
 * docs/decisions.md "The two tools of the optimizer and policies": they give no right, since what they find and call is
 * decided under its own name.
 */
const isOfRuntime = ({ kind }: Target): boolean => kind === 'builtin';

/** Made once for each class of callers. */
const withOwn = new WeakMap<Visibility, Visibility>();

const withOwnTools = (visibility: Visibility): Visibility => {
  const before = withOwn.get(visibility);
  if (before) return before;
  const { key, isVisible } = visibility;
  const made: Visibility = { key, isVisible: (entry, kind) => isOfRuntime(entry.target) || isVisible(entry, kind) };
  withOwn.set(visibility, made);
  return made;
};

/** docs/decisions.md "Hidden names": the words are those for a name that does not exist. */
const refuse = (decision: PolicyDecision, record: CallRecord | undefined): never => {
  if (record) record.decision = decision;
  throw new VmcpError('forbidden', 'forbidden');
};
