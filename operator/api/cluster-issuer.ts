import type { ClusterIssuer } from '../plan/settings.ts';
import { isNotFound, isRefusal } from './errors.ts';
import type { Transport } from './transport.ts';

/**
 * Kubernetes "Service Account Issuer Discovery": issuer and public keys of the cluster's service-account tokens, which
 * every service account may read unless the cluster says otherwise. The keys are asked of the API server whatever
 * `jwks_uri` says: that may lead outside.
 */
export const clusterIssuer = async (transport: Transport, signal: AbortSignal): Promise<ClusterIssuer | undefined> => {
  try {
    const [discovery, keySet] = await Promise.all([
      transport.json({ ...reads, path: '/.well-known/openid-configuration' }, signal),
      transport.json({ ...reads, path: '/openid/v1/jwks', accept: 'application/jwk-set+json' }, signal),
    ]);
    const { issuer } = discovery as { readonly issuer?: unknown };
    const { keys } = keySet as { readonly keys?: unknown };
    return typeof issuer === 'string' && Array.isArray(keys) ? { issuer, keys } : undefined;
  } catch (error) {
    if (isRefusal(error) || isNotFound(error)) return undefined;
    throw error;
  }
};

/** No objects, but counted beside them. */
const reads = { verb: 'get', kind: 'ServiceAccountIssuer', method: 'GET' } as const;
