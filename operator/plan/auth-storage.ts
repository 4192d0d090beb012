import type { SpecOf } from '../../crds/index.ts';
import { problem } from './conditions.ts';
import type { PlannedCondition } from './plan.ts';

/**
 * `storage.type` of docs/configuration.md "authServer"; a store that is described and not asked for. `path` is that of
 * the server.
 */
export const authStorageIgnored = (
  path: string,
  server: SpecOf<'VirtualMCPServer'>['authServerConfig'],
): PlannedCondition | undefined => {
  const { type = 'memory', kvstore } = server?.storage ?? {};
  if (type === 'kvstore' || kvstore === undefined) return undefined;
  const message = `${path}.storage.kvstore has no effect while tokens are kept in memory; set ${path}.storage.type to kvstore`;
  return problem('AuthServerStorageIgnored', 'MemoryStorage', message);
};
