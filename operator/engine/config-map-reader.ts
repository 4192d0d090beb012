import type { ApiClient } from '../api/client.ts';
import { outlineOf } from '../cache/held-metadata.ts';
import { memoryBytesOf } from '../cache/memory-bytes.ts';
import { NamespaceQuota } from '../cache/namespace-quota.ts';
import { type KubeObject, type ObjectKey, keyOf, keyText } from '../object.ts';
import { MAX_POLICIES } from '../plan/server/config/policies.ts';

/** ConfigMaps whose content is remembered. */
const REMEMBERED = 256;
/** Bytes in memory, about, of those of one namespace. */
const MAX_NAMESPACE_BYTES = 8 * 1024 * 1024;

/**
 * Reads the content of ConfigMaps that are watched by their metadata, once for each version: a cluster is full of
 * ConfigMaps, and few hold policies. A text longer than policies may be is cut to one character more than that.
 */
export const configMapReader = (api: Pick<ApiClient, 'get'>, maxNamespaceBytes = MAX_NAMESPACE_BYTES) => {
  const known = new Map<string, KubeObject>();
  const quota = new NamespaceQuota(maxNamespaceBytes);
  const forget = (key: ObjectKey): void => {
    known.delete(keyText(key));
    quota.release(key.namespace, key.name);
  };
  const oldest = (namespace?: string): ObjectKey | undefined =>
    known
      .values()
      .map(keyOf)
      .find((key) => namespace === undefined || key.namespace === namespace);
  const remember = (key: ObjectKey, object: KubeObject): void => {
    const bytes = memoryBytesOf(object);
    if (bytes > maxNamespaceBytes) return;
    while (!quota.tryReserve(key.namespace, key.name, bytes)) {
      const first = oldest(key.namespace);
      if (first === undefined) return;
      forget(first);
    }
    known.set(keyText(key), object);
    const first = oldest();
    if (known.size > REMEMBERED && first !== undefined) forget(first);
  };
  return async (metadata: KubeObject, signal: AbortSignal): Promise<KubeObject | undefined> => {
    const key = { ...keyOf(metadata), kind: 'ConfigMap' };
    const before = known.get(keyText(key));
    if (before !== undefined && isSameVersion(before, metadata)) return before;
    const found = await api.get(key, signal);
    forget(key);
    if (found === undefined) return undefined;
    const content = contentOf(found);
    remember(key, content);
    return content;
  };
};

/** What policies are read from. */
const contentOf = (configMap: KubeObject): KubeObject => {
  const { apiVersion, kind, metadata } = outlineOf(configMap);
  const data = (configMap['data'] ?? {}) as Readonly<Record<string, string>>;
  return {
    apiVersion,
    kind,
    metadata,
    data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, cut(text)])),
  };
};

/** A copy: a part of a text would hold all of it in memory. */
const cut = (text: string): string =>
  text.length > MAX_POLICIES ? Buffer.from(text.slice(0, MAX_POLICIES + 1)).toString() : text;

const isSameVersion = ({ metadata: a }: KubeObject, { metadata: b }: KubeObject): boolean =>
  a.uid === b.uid && a.resourceVersion !== undefined && a.resourceVersion === b.resourceVersion;
