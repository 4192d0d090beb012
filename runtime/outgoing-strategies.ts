import type { BackendDeps } from './backends/index.ts';
import type { FeatureDeps } from './features.ts';
import { fetchPolicies } from './http/index.ts';
import { LIMITS } from './limits.ts';
import { type ConnectStrategy, CredentialCache } from './outgoing/index.ts';

/** Connects the strategy of a backend with the dependencies that all strategies get. */
export const strategiesBy = (
  connect: ConnectStrategy,
  { clock, random, readSecret, fetchUnder }: FeatureDeps,
): BackendDeps['connectStrategy'] => {
  const { fetch } = fetchUnder(fetchPolicies.token);
  const newCredentialCache = <V>() => new CredentialCache<V>({ clock, limit: LIMITS.credentialsPerBackend });
  return (config, backend) => connect(config, { backend, fetch, clock, random, readSecret, newCredentialCache });
};
