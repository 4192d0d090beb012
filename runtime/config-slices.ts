import type { WantedBackend } from './backends/index.ts';
import type { OfferedBackend, LiveCatalogSettings, WorkloadTools } from './catalog/index.ts';
import { type Config, providerUseOf, withFirstProvider } from './config/index.ts';
import type { BucketSize, BucketSizes, RateLimits } from './gate/index.ts';
import type { HostRules, OperatorTokenSettings } from './edge/index.ts';
import type { LogFields, LogLevel } from './observe/index.ts';
import type { StoreSettings } from './store/index.ts';

/** What each room needs of the configuration, and nothing more. */

export const catalogSettingsOf = ({ aggregation, operational }: Config): LiveCatalogSettings => ({
  naming: {
    conflictResolution: aggregation.conflictResolution,
    prefixFormat: aggregation.conflictResolutionConfig.prefixFormat,
    priorityOrder: aggregation.conflictResolutionConfig.priorityOrder ?? [],
  },
  excludeAllTools: aggregation.excludeAllTools ?? false,
  tools: new Map((aggregation.tools ?? []).map((each) => [each.workload, workloadToolsOf(each)])),
  partialFailureMode: operational.failureHandling.partialFailureMode,
  waitForUnknownMs: operational.failureHandling.healthCheckTimeout,
});

type ConfiguredTools = NonNullable<Config['aggregation']['tools']>[number];

const workloadToolsOf = ({ excludeAll, filter, overrides }: ConfiguredTools): WorkloadTools => ({
  excludeAll: excludeAll ?? false,
  ...(filter && { filter }),
  overrides: new Map(Object.entries(overrides ?? {})),
});

/** Short enough for any test, and no busy loop. */
const SHORTEST_INTERVAL_MS = 10;

export const wantedBackendsOf = ({
  backends,
  outgoingAuth,
  operational,
  extensions,
  authServer,
}: Config): WantedBackend[] => {
  const upstreams = (authServer?.upstreamProviders ?? []).map(({ name }) => name);
  const { timeouts, failureHandling } = operational;
  const health = {
    intervalMs: Math.max(SHORTEST_INTERVAL_MS, failureHandling.healthCheckInterval),
    timeoutMs: failureHandling.healthCheckTimeout,
    unhealthyThreshold: failureHandling.unhealthyThreshold,
  };
  const { enabled: isEnabled, failureThreshold, timeout: timeoutMs } = failureHandling.circuitBreaker;
  const circuitBreaker = { isEnabled, failureThreshold, timeoutMs };
  return backends.map(({ name, url, transport, caBundlePath, headerForward, relaysCredentials }) => ({
    settings: {
      name,
      url,
      transport,
      strategy: withFirstProvider(own(outgoingAuth.backends, name) ?? outgoingAuth.default ?? NO_PROOF, upstreams),
      ...eraOf(own(extensions.perWorkload, name)),
      ...(caBundlePath !== undefined && { caBundlePath }),
      ...(headerForward !== undefined && { headerForward }),
      ...(relaysCredentials && { relaysCredentials }),
    },
    tuning: {
      idleTimeoutMs: own(timeouts.perWorkload, name) ?? timeouts.default,
      health,
      circuitBreaker,
      maxCalls: own(extensions.perWorkload, name)?.calls ?? extensions.callsPerBackend,
    },
  }));
};

/**
 * Of each upstream provider the backends whose requests carry its users' tokens, with the origins that a token, or what
 * is had for it, is sent to.
 */
export const tokenRecipientsOf = (config: Config): ReadonlyMap<string, ReadonlyMap<string, readonly string[]>> => {
  const byProvider = new Map<string, Map<string, readonly string[]>>();
  for (const { settings } of wantedBackendsOf(config)) {
    const { name, url, strategy } = settings;
    const { provider, recipients } = providerUseOf(strategy, new URL(url).origin) ?? {};
    if (provider === undefined || recipients === undefined) continue;
    const backends = byProvider.get(provider) ?? new Map<string, readonly string[]>();
    byProvider.set(provider, backends.set(name, recipients));
  }
  return byProvider;
};

const eraOf = (
  settings: Config['extensions']['perWorkload'][string] | undefined,
): Pick<WantedBackend['settings'], 'era'> =>
  settings === undefined || settings.era === 'auto' ? {} : { era: settings.era };

/** docs/decisions.md "Unlisted backends of an inline configuration" */
const NO_PROOF = { type: 'unauthenticated' } as const;

/** Reads own properties only, as a backend may be named `constructor`. */
const own = <T>(record: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined;

/** Backends that are named but not contacted (docs/decisions.md "Unavailable backends in lists"). */
export const withheldOf = ({ withheld }: Config): OfferedBackend[] =>
  withheld.map(({ name, message }) => ({ name, message, status: 'unavailable', isWithheld: true }));

export const hostRulesOf = ({ extensions, incomingAuth, authServer }: Config): HostRules => ({
  allowedHosts: [...extensions.allowedHosts, ...browserUrlsOf(authServer).map(({ hostname }) => hostname)],
  allowedOrigins: [...extensions.allowedOrigins, ...browserUrlsOf(authServer).map(({ origin }) => origin)],
  trustedProxies: extensions.trustedProxies,
  ...(incomingAuth.oidc?.resource !== undefined && { resourceUrl: incomingAuth.oidc.resource }),
});

/** Under which browsers, and clients, meet the authorization server: its pages send forms to themselves. */
const browserUrlsOf = (authServer: Config['authServer']): readonly URL[] => {
  if (!authServer) return [];
  const { issuer, authorizationEndpointBaseUrl, upstreamProviders } = authServer;
  const redirectUris = upstreamProviders.map(
    ({ oidcConfig, oauth2Config }) => oidcConfig?.redirectUri ?? oauth2Config?.redirectUri,
  );
  return [issuer, authorizationEndpointBaseUrl, ...redirectUris].flatMap((each) =>
    each === undefined ? [] : [new URL(each)],
  );
};

export const rateLimitsOf = ({ name, rateLimiting = {} }: Config): RateLimits => ({
  server: name,
  ...bucketSizesOf(rateLimiting),
  tools: new Map((rateLimiting.tools ?? []).map((each) => [each.name, bucketSizesOf(each)])),
});

type ConfiguredLimits = Pick<NonNullable<Config['rateLimiting']>, 'shared' | 'perUser'>;

const bucketSizesOf = ({ shared, perUser }: ConfiguredLimits): BucketSizes => ({
  shared: shared && bucketSizeOf(shared),
  perUser: perUser && bucketSizeOf(perUser),
});

/** The shortest period that a store counts in; any shorter one is no limit either. */
const SHORTEST_PERIOD_MS = 1;

const bucketSizeOf = ({ maxTokens, refillPeriod }: NonNullable<ConfiguredLimits['shared']>): BucketSize => ({
  capacity: maxTokens,
  refillPeriodMs: Math.max(SHORTEST_PERIOD_MS, refillPeriod),
});

export const accessOf = ({ management }: Config): OperatorTokenSettings => ({
  audience: management.audience,
  operatorKeys: management.operatorKeys,
});

export const levelOf = ({ operational }: Config): LogLevel => (operational.logLevel === 'debug' ? 'debug' : 'info');

/** Fields of every log line. */
export const logFieldsOf = ({ name, metadata }: Config): LogFields => ({
  ...metadata,
  server: name,
});

/** The variable that docs/configuration.md "sessionStorage" names. */
const PASSWORD_VARIABLE = 'VMCP_SESSION_KVSTORE_PASSWORD';

/**
 * Default key prefix, so that keys in a shared Redis are recognizable. The operator gives each server a prefix of its
 * own.
 */
const KEY_PREFIX = 'vmcp:';

export const sessionStoreSettingsOf = ({ sessionStorage, extensions }: Config): StoreSettings => {
  if (sessionStorage?.provider !== 'kvstore') return { kind: 'memory' };
  const { address, db, keyPrefix = KEY_PREFIX } = sessionStorage;
  const { username, passwordFile, tls, sentinel, cluster } = extensions.sessionStore ?? {};
  const others = sentinel?.addresses ?? cluster?.addresses ?? [];
  return {
    kind: 'redis',
    // The schema asks for an address where the provider is `kvstore`.
    addresses: [address, ...others].filter((each) => each !== undefined),
    db,
    keyPrefix,
    username,
    password: { file: passwordFile, environment: PASSWORD_VARIABLE },
    tls,
    sentinel: sentinel && {
      masterName: sentinel.masterName,
      username: sentinel.username,
      password: { file: sentinel.passwordFile },
      tls: sentinel.tls,
    },
    isCluster: cluster !== undefined,
  };
};
