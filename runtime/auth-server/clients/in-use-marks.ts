import { type Clock, lruCache } from '../../process/index.ts';
import { digest, keyOf, partOf, PARTS, type QuotaGroup, type Store } from '../../store/index.ts';

/** Which clients with metadata documents are in use: users have signed in with them, at whichever replica. */
export interface InUseMarks {
  /** Marks the client of this URL for `MARK_MS` from now on. Never throws: a mark that is not kept is made later. */
  readonly mark: (url: string) => void;
  /** Whether this process has seen the mark. */
  readonly isKnown: (url: string) => boolean;
  /** Reads the mark. False also while the store is away. */
  readonly isMarked: (url: string) => Promise<boolean>;
}

export interface InUseMarksDeps {
  readonly store: Pick<Store, 'createMap' | 'touch' | 'readMap'>;
  readonly clock: Pick<Clock, 'now'>;
}

const DAY_MS = 24 * 3_600_000;
/** A client with which nobody has signed in, or refreshed, for this time is not in use. */
const MARK_MS = 30 * DAY_MS;

/** Clients in use; one that was used on two days is not displaced by others. */
export const MAX_MARKS = 1_000;

/** In a store, so that a restart does not let strangers compete with clients in use. One write a day and client. */
export const inUseMarks = ({ store, clock }: InUseMarksDeps): InUseMarks => {
  /** When the mark was written, or read: milliseconds since the epoch. */
  const known = lruCache<number>({ count: MAX_MARKS, bytes: 2 * 1024 * 1024 });
  // A copy: the URL may be a slice of a longer text.
  const remember = (url: string): void => known.set(structuredClone(url), clock.now(), 2 * url.length);
  const write = async (url: string): Promise<void> => {
    const { key, group } = placeOf(url);
    const isNew = await store.createMap(key, MARK, MARK_MS, group);
    if (!isNew) await store.touch(key, MARK_MS, group);
  };
  return {
    mark: (url) => {
      if (clock.now() < (known.get(url) ?? -Infinity) + DAY_MS) return;
      remember(url);
      void write(url).catch(() => known.delete(url));
    },
    isKnown: (url) => known.get(url) !== undefined,
    isMarked: async (url) => {
      const mark = await store.readMap(placeOf(url).key).catch(() => undefined);
      if (mark) remember(url);
      return mark !== undefined;
    },
  };
};

/** A map has at least one field. */
const MARK: ReadonlyMap<string, Buffer> = new Map([['used', Buffer.alloc(0)]]);

const placeOf = (url: string): { readonly key: string; readonly group: QuotaGroup } => {
  const name = digest(url);
  return {
    key: keyOf('client', name),
    group: { name: `clients:{${partOf(name)}}`, limit: Math.ceil(MAX_MARKS / PARTS) },
  };
};
