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
  readonly store: Pick<Store, 'createMap' | 'setField' | 'touch' | 'readMap'>;
  readonly clock: Pick<Clock, 'now'>;
}

const DAY_MS = 24 * 3_600_000;
/** A client with which nobody has signed in, or refreshed, for this time is not in use. */
const MARK_MS = 30 * DAY_MS;

/** Clients in use; one that was used on two days is not displaced by others. */
export const MAX_MARKS = 1_000;

/** In a store, so that a restart does not let strangers compete with clients in use. One write a day and client. */
export const inUseMarks = ({ store, clock }: InUseMarksDeps): InUseMarks => {
  /** The day on which this process has written the mark; `ONLY_READ`: it has not. */
  const known = lruCache<number>({ count: MAX_MARKS, bytes: 2 * 1024 * 1024 });
  // A copy: the URL may be a slice of a longer text.
  const remember = (url: string, day: number): void => known.set(structuredClone(url), day, 2 * url.length);
  const write = async (url: string, day: number): Promise<void> => {
    const { key, group } = placeOf(url);
    const value = Buffer.from(String(day));
    if (await store.createMap(key, new Map([[DAY, value]]), MARK_MS, group)) return;
    const mark = await store.readMap(key);
    // A mark that another replica has made today is not renewed: that would count as use on two days.
    if (Number(mark?.get(DAY) ?? 0) >= day) return;
    if (await store.setField(key, DAY, value)) await store.touch(key, MARK_MS, group);
  };
  return {
    mark: (url) => {
      const today = Math.floor(clock.now() / DAY_MS);
      if (known.get(url) === today) return;
      remember(url, today);
      void write(url, today).catch(() => known.delete(url));
    },
    isKnown: (url) => known.get(url) !== undefined,
    isMarked: async (url) => {
      const mark = await store.readMap(placeOf(url).key).catch(() => undefined);
      if (mark && known.get(url) === undefined) remember(url, ONLY_READ);
      return mark !== undefined;
    },
  };
};

/** The field of a mark: the last day on which the client was used, since the epoch. */
const DAY = 'day';
const ONLY_READ = -1;

const placeOf = (url: string): { readonly key: string; readonly group: QuotaGroup } => {
  const name = digest(url);
  return {
    key: keyOf('client', name),
    group: { name: `clients:{${partOf(name)}}`, limit: Math.ceil(MAX_MARKS / PARTS) },
  };
};
