import type { BackendDeps } from './backends/index.ts';
import type { FeatureDeps } from './features.ts';
import { fetchPolicies, type GuardedFetch, ownersPolicy } from './http/index.ts';
import { LIMITS } from './limits.ts';
import { type Meter, OPERATION_SECONDS } from './observe/index.ts';
import { type ConnectStrategy, CredentialCache, type CredentialMeasures } from './outgoing/index.ts';

/** Connects the strategy of a backend with the dependencies that all strategies get. */
export const strategiesBy = (
  connect: ConnectStrategy,
  deps: Pick<FeatureDeps, 'clock' | 'config' | 'fetchUnder' | 'meter' | 'random' | 'readSecret'>,
): BackendDeps['connectStrategy'] => {
  const { clock, random, readSecret } = deps;
  const fetch = tokenFetch(deps);
  const measuresFor = credentialMeasures(deps.meter);
  const newCredentialCache = <V>() => new CredentialCache<V>({ clock, limit: LIMITS.credentialsPerBackend });
  return (config, backend) => {
    const measures = measuresFor(config.type, backend.name);
    return connect(config, { backend, fetch, clock, random, readSecret, newCredentialCache, measures });
  };
};

/** Plain HTTP beyond loopback only where the issuer of the server allows it, at the moment of the request. */
const tokenFetch = ({ config, fetchUnder }: Pick<FeatureDeps, 'config' | 'fetchUnder'>): GuardedFetch => {
  const guarded = fetchUnder(fetchPolicies.token);
  const insecure = fetchUnder(ownersPolicy('token', { insecureAllowHttp: true }));
  return (request) => (config.current().incomingAuth.oidc?.insecureAllowHttp ? insecure : guarded).fetch(request);
};

const LABELS = ['vmcp.outgoing.strategy', 'vmcp.backend.name'] as const;

/** The instruments of credentials, each made once for all backends. */
const credentialMeasures = (meter: Meter): ((strategy: string, backend: string) => CredentialMeasures) => {
  const cached = meter.counter({
    name: 'vmcp.credential.cache.hits',
    help: 'Credentials for backends that were taken from the cache.',
    labels: LABELS,
  });
  const exchanged = meter.histogram({
    name: 'vmcp.credential.exchange.duration',
    help: 'Requests for credentials at their issuers.',
    unit: 's',
    labels: [...LABELS, 'vmcp.credential.outcome'],
    buckets: OPERATION_SECONDS,
  });
  const refused = meter.counter({
    name: 'vmcp.credential.refused',
    help: 'Credentials that backends have refused with 401.',
    labels: LABELS,
  });
  return (strategy, backend) => {
    const labels = { 'vmcp.outgoing.strategy': strategy, 'vmcp.backend.name': backend };
    return {
      cached: () => cached(labels),
      obtained: (outcome, seconds) => exchanged(seconds, { ...labels, 'vmcp.credential.outcome': outcome }),
      refused: () => refused(labels),
    };
  };
};
