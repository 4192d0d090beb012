import type { ApiClient } from '../api/client.ts';
import { type KubeObject, keyOf, keyText } from '../object.ts';

/** ConfigMaps whose content is remembered. */
const REMEMBERED = 256;

/**
 * Reads ConfigMaps whose metadata is watched and nothing else: once for each version, since a cluster is full of ConfigMaps that
 * nobody needs to look into, and few that hold policies.
 */
export const configMapReader = (api: Pick<ApiClient, 'get'>) => {
  const known = new Map<string, KubeObject>();
  return async (metadata: KubeObject, signal: AbortSignal): Promise<KubeObject | undefined> => {
    const key = { ...keyOf(metadata), kind: 'ConfigMap' };
    const before = known.get(keyText(key));
    if (before !== undefined && isSameVersion(before, metadata)) return before;
    const found = await api.get(key, signal);
    known.delete(keyText(key));
    if (found === undefined) return undefined;
    known.set(keyText(key), found);
    const [oldest] = known.keys();
    if (known.size > REMEMBERED && oldest !== undefined) known.delete(oldest);
    return found;
  };
};

const isSameVersion = ({ metadata: a }: KubeObject, { metadata: b }: KubeObject): boolean =>
  a.uid === b.uid && a.resourceVersion !== undefined && a.resourceVersion === b.resourceVersion;
