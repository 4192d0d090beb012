import type { Clock } from '../clock.ts';
import { bounded } from './bounded.ts';
import { localMessages } from './local-messages.ts';
import { Rooms } from './rooms.ts';
import { Shelf, type ShelfLimits } from './shelf.ts';
import type { Fields, Store } from './store.ts';
import { bucketLifeMs, takeFrom } from './token-buckets.ts';

const LIMITS: ShelfLimits = { entries: 100_000, bytes: 256 * 1024 * 1024 };
const SWEEP_MS = 60_000;

/** Everything in this process: gone with it, and seen by no other replica. Values are copied, as over a socket. */
export const memoryStore = ({ clock }: { readonly clock: Clock }, limits: ShelfLimits = LIMITS): Store => {
  const shelf = new Shelf(clock, limits);
  const rooms = new Rooms(clock);
  const messages = localMessages();
  const sweep = (): void => {
    shelf.endExpired();
    rooms.endExpired();
    timer = clock.after(SWEEP_MS, sweep);
  };
  let timer = clock.after(SWEEP_MS, sweep);
  return bounded({
    ...valuesOn(shelf, rooms),
    ...mapsOn(shelf, rooms),
    takeTokens: async (buckets) => {
      const kept = buckets.map(({ key }) => shelf.value(key));
      const taken = takeFrom(buckets, kept, clock.now());
      if (!taken.isTaken) return taken.waitMs;
      for (const [index, level] of taken.levels.entries()) {
        const bucket = buckets[index];
        if (bucket) shelf.put(bucket.key, level, bucketLifeMs(bucket));
      }
      return 0;
    },
    ...messages,
    state: () => 'up',
    onState: () => () => {},
    firstAnswer: Promise.resolve(),
    close: async () => {
      timer.cancel();
      messages.endAll();
      shelf.clear();
      rooms.clear();
    },
  });
};

const valuesOn = (
  shelf: Shelf,
  rooms: Rooms,
): Pick<Store, 'get' | 'set' | 'setIfAbsent' | 'take' | 'delete' | 'touch'> => ({
  get: async (key) => copyOf(shelf.value(key)),
  set: async (key, value, ttlMs) => shelf.put(key, copyOf(value), ttlMs),
  setIfAbsent: async (key, value, ttlMs) => {
    if (shelf.entry(key)) return false;
    shelf.put(key, copyOf(value), ttlMs);
    return true;
  },
  take: async (key) => {
    const value = shelf.value(key);
    if (value) shelf.remove(key);
    return value;
  },
  delete: async (key, room) => {
    if (room) rooms.leave(key, room);
    return shelf.remove(key);
  },
  touch: async (key, ttlMs, room) => {
    const isThere = shelf.touch(key, ttlMs);
    if (isThere && room) rooms.use(key, room, ttlMs);
    return isThere;
  },
});

const mapsOn = (
  shelf: Shelf,
  rooms: Rooms,
): Pick<Store, 'createMap' | 'readMap' | 'setField' | 'setFieldIfAbsent' | 'deleteField'> => ({
  createMap: async (key, fields, ttlMs, room) => {
    if (shelf.entry(key)) return false;
    const displaced = room && rooms.displacedBy(key, room);
    // Throws when the process has no room for it: then it displaces nothing.
    shelf.put(key, copyOfAll(fields), ttlMs);
    if (room) rooms.enter(key, room, ttlMs);
    if (room && displaced !== undefined) rooms.leave(displaced, room);
    if (displaced !== undefined) shelf.remove(displaced);
    return true;
  },
  readMap: async (key, ttlMs, room) => {
    const map = shelf.map(key);
    if (map && ttlMs !== undefined) shelf.touch(key, ttlMs);
    if (map && ttlMs !== undefined && room) rooms.use(key, room, ttlMs);
    return map && copyOfAll(map);
  },
  setField: async (key, field, value, maxFields) => shelf.setField(key, field, copyOf(value), maxFields),
  setFieldIfAbsent: async (key, field, value) => {
    const kept = shelf.map(key)?.get(field);
    if (kept) return copyOf(kept);
    return shelf.setField(key, field, copyOf(value)) ? copyOf(value) : undefined;
  },
  deleteField: async (key, field, only) => shelf.deleteField(key, field, only),
});

const copyOfAll = (fields: Fields): Map<string, Buffer> =>
  new Map([...fields].map(([field, value]) => [field, copyOf(value)]));

function copyOf(value: Buffer): Buffer;
function copyOf(value: Buffer | undefined): Buffer | undefined;
function copyOf(value: Buffer | undefined): Buffer | undefined {
  return value && Buffer.from(value);
}
