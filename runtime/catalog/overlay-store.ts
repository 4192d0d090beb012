import { createHash } from 'node:crypto';
import { VmcpError } from '../errors.ts';
import { LIST_KINDS, type Lists } from '../mcp/index.ts';
import { type LruBounds, lruCache } from '../process/index.ts';
import type { Overlay } from './live-catalog.ts';

/** Lists that are compared with those that are read. Lists beyond these are kept once for each user. */
const MOST_LISTS = 4_000;

/**
 * Overlays, each once for all users who see the same, as most users of a backend do: what is made of an overlay, its
 * catalog with all pages, is then made once, for all of them and each time that it is listed again.
 */
export interface OverlayStore {
  /**
   * The same, as the value that is known already where there is one. Lists are compared by all of their bytes, and the
   * errors of backends that could not be listed by all that is shown of them.
   */
  readonly shared: (own: Overlay) => Overlay;
  /**
   * Keeps an overlay that `shared` has returned, within the bounds; it is had by the key that is returned. `before`:
   * the key of the overlay in whose place it comes, for the same user.
   */
  readonly keep: (overlay: Overlay, before?: string) => string;
  /** Undefined: it was the least recently used one, or is larger than all together may be. */
  readonly get: (key: string) => Overlay | undefined;
}

/** An empty store. `bounds`: different overlays, and bytes of their lists as the backends wrote them. */
export const overlayStore = (bounds: LruBounds): OverlayStore => {
  const kept = lruCache<Overlay>(bounds);
  const keys = new WeakMap<Overlay, string>();
  const { sharedLists, digestOf } = listsInUse();
  let unshared = 0;
  const withSharedLists = (own: Overlay): Overlay => {
    const shared = own.map((each) => {
      const lists = each.lists && sharedLists(each.lists);
      return !lists || lists === each.lists ? each : { ...each, lists };
    });
    return shared.every((each, index) => each === own[index]) ? own : shared;
  };
  const keyOf = (overlay: Overlay): string => {
    const parts: unknown[] = [];
    for (const { name, status, isWithheld, lists, message, error } of overlay) {
      const shown = error ? shownOf(error) : null;
      if (shown === undefined) return `${OF_ONE_USER}${(unshared += 1)}`;
      parts.push([name, status, isWithheld, lists && digestOf(lists), message, shown]);
    }
    return JSON.stringify(parts);
  };
  return {
    shared: (own) => {
      const overlay = withSharedLists(own);
      const key = keys.get(overlay) ?? keyOf(overlay);
      const known = kept.get(key) ?? (keys.has(overlay) ? overlay : withoutCauses(overlay));
      keys.set(known, key);
      return known;
    },
    keep: (overlay, before) => {
      const key = keys.get(overlay) ?? keyOf(overlay);
      if (kept.get(key) !== overlay) kept.set(key, overlay, bytesOf(overlay));
      if (before !== key && before?.startsWith(OF_ONE_USER)) kept.delete(before);
      return key;
    },
    get: kept.get,
  };
};

/** Begins the key of an overlay that is not shared. */
const OF_ONE_USER = '#';

/** What is shown and logged of an error; undefined where it is meant for one user. */
const shownOf = ({ code, message, detail, challenge, isOutage, clientText, data }: VmcpError): object | undefined =>
  clientText === undefined && data === undefined ? [code, message, detail, challenge, isOutage] : undefined;

/** An error that others see as well tells nothing of the request of one user. */
const withoutCauses = (overlay: Overlay): Overlay =>
  overlay.some(({ error }) => error?.cause !== undefined)
    ? overlay.map((each) => (each.error ? { ...each, error: withoutCause(each.error) } : each))
    : overlay;

const withoutCause = ({ code, message, detail, challenge, isOutage, clientText, data }: VmcpError): VmcpError =>
  new VmcpError(code, message, {
    isOutage,
    ...(detail !== undefined && { detail }),
    ...(challenge && { challenge }),
    ...(clientText !== undefined && { clientText }),
    ...(data && { data }),
  });

/** The lists that are in use, each once. They are found by a digest of all entries, and go when nobody has them. */
const listsInUse = () => {
  const known = lruCache<WeakRef<Lists>>({ count: MOST_LISTS, bytes: Infinity });
  const digests = new WeakMap<Lists, string>();
  const digestOf = (lists: Lists): string => {
    const digest = digests.get(lists) ?? digestOfEntries(lists);
    digests.set(lists, digest);
    return digest;
  };
  const sharedLists = (own: Lists): Lists => {
    const digest = digestOf(own);
    const shared = known.get(digest)?.deref();
    if (shared) return shared;
    known.set(digest, new WeakRef(own), 0);
    return own;
  };
  return { digestOf, sharedLists };
};

/** SHA-256: an entry is made from its bytes alone, and its length keeps it apart from the next one. */
const digestOfEntries = (lists: Lists): string => {
  const hash = createHash('sha256');
  for (const kind of LIST_KINDS) {
    hash.update(`${lists[kind].length};`);
    for (const { bytes } of lists[kind]) hash.update(`${bytes.length};`).update(bytes);
  }
  return hash.digest('base64url');
};

const bytesOf = (overlay: Overlay): number =>
  overlay
    .flatMap(({ lists }) => (lists ? LIST_KINDS.flatMap((kind) => lists[kind]) : []))
    .reduce((sum, { bytes }) => sum + bytes.length, 0);
