import { AUDIENCE } from './issuer.ts';
import { policies } from './policies.ts';

/** What the gate is made of here: where its parts are. */
export interface Parts {
  /** URL of the identity provider. */
  readonly issuer: string;
  /** URL of a collector of OTLP. */
  readonly collector: string;
  /** host:port */
  readonly redis: string;
}

/** A gateway with some steps of the gate. */
export interface Stage {
  readonly name: string;
  readonly config: Readonly<Record<string, unknown>>;
  /** The stage that it has one step more than. */
  readonly after?: string;
}

export const BARE = 'bare';
export const EVERYTHING = '+ audit (everything)';
const JWT = '+ JWT';
const POLICIES = '+ policies';
const LIMITS = '+ limits';
export const TRACES = 'everything, traces at 100 %';
export const REDIS = 'everything, limits in Redis';

/** Metrics are always on. */
export const stagesOf = ({ issuer, collector, redis }: Parts): readonly Stage[] => {
  const oidc = { issuer, audience: AUDIENCE, clientId: 'bench', insecureAllowHttp: true, jwksAllowPrivateIp: true };
  const jwt = { incomingAuth: { type: 'oidc', oidc } };
  const withPolicies = { incomingAuth: { ...jwt.incomingAuth, authz: { type: 'cedar', policies } } };
  const limits = { ...withPolicies, rateLimiting };
  const everything = { ...limits, audit: { enabled: true, logFile: '/dev/null' } };
  const telemetry = { endpoint: collector, tracingEnabled: true, samplingRate: '1' };
  const sessionStorage = { provider: 'kvstore', address: redis };
  return [
    { name: BARE, config: {} },
    { name: JWT, config: jwt, after: BARE },
    { name: POLICIES, config: withPolicies, after: JWT },
    { name: LIMITS, config: limits, after: POLICIES },
    { name: EVERYTHING, config: everything, after: LIMITS },
    { name: TRACES, config: { ...everything, telemetry }, after: EVERYTHING },
    { name: REDIS, config: { ...everything, sessionStorage }, after: EVERYTHING },
  ];
};

/** Three buckets for a call, of which none is ever empty. */
const bucket = { maxTokens: 1_000_000_000, refillPeriod: '1s' };
const rateLimiting = { shared: bucket, perUser: bucket, tools: [{ name: 'bench_echo', perUser: bucket }] };
