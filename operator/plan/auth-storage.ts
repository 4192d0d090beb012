import { problem } from './conditions.ts';
import type { PlannedCondition } from './plan.ts';

/** What of an embedded authorization server says where it keeps tokens. */
export interface AuthStorage {
  readonly storage?: { readonly type?: 'memory' | 'kvstore'; readonly kvstore?: object };
}

/** spec: storage.type; a store that is described and not asked for. `path` is that of the server. */
export const authStorageIgnored = (path: string, server: AuthStorage | undefined): PlannedCondition | undefined => {
  const { type = 'memory', kvstore } = server?.storage ?? {};
  if (type === 'kvstore' || kvstore === undefined) return undefined;
  const message = `${path}.storage.kvstore has no effect while tokens are kept in memory; set ${path}.storage.type to kvstore`;
  return problem('AuthServerStorageIgnored', 'MemoryStorage', message);
};
