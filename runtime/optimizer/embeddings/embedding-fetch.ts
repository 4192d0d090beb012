import type { GuardedClient } from '../../http/index.ts';

interface Used {
  readonly timeoutMs: number;
  readonly client: GuardedClient;
  requests: number;
}

/**
 * A client whose timeout may change while it is used: requests under way keep the one that they began with, and further
 * ones have the new one.
 */
export const embeddingFetch = (
  clientWith: (timeoutMs: number) => GuardedClient,
  timeoutMs: () => number,
): GuardedClient => {
  const open = new Set<Used>();
  let current: Used | undefined;
  const closeUnused = async (): Promise<void> => {
    for (const used of open) {
      if (used === current || used.requests > 0) continue;
      open.delete(used);
      await used.client.close();
    }
  };
  const latest = (): Used => {
    const wanted = timeoutMs();
    if (current?.timeoutMs === wanted) return current;
    current = { timeoutMs: wanted, client: clientWith(wanted), requests: 0 };
    open.add(current);
    void closeUnused();
    return current;
  };
  return {
    fetch: async (request) => {
      const used = latest();
      used.requests += 1;
      try {
        return await used.client.fetch(request);
      } finally {
        used.requests -= 1;
        void closeUnused();
      }
    },
    close: async () => {
      await Promise.all([...open].map(({ client }) => client.close()));
    },
  };
};
