import type { Clock } from '../process/index.ts';
import { PARTS, type Store } from '../store/index.ts';
import type { Revocation } from './messages.ts';

/** The revocations that something in use may be older than, for replicas that start, or were away. */
export const sharedList = (store: Store, clock: Clock, keptMs: number) => {
  const keys = Array.from({ length: PARTS }, (_, part) => `user-revocations:{${part}}`);
  const read = async (key: string): Promise<readonly Revocation[]> => {
    const fields = await store.readMap(key);
    return [...(fields ?? [])].map(([name, text]) => ({ name, atMs: Number(text.toString()) }));
  };
  const prune = async (key: string): Promise<void> => {
    const ended = (await read(key)).filter(({ atMs }) => atMs + keptMs < clock.now());
    await Promise.all(ended.map(({ name }) => store.deleteField(key, name)));
  };
  return {
    read: async () => (await Promise.all(keys.map(read))).flat(),
    add: async ({ name, atMs }: Revocation): Promise<void> => {
      const key = keys[Buffer.from(name, 'base64url').readUInt8() % PARTS] ?? '';
      const value = Buffer.from(`${atMs}`);
      await prune(key);
      if (!(await store.createMap(key, new Map([[name, value]]), keptMs))) await store.setField(key, name, value);
      await store.touch(key, keptMs);
    },
  };
};
