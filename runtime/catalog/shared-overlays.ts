import { createHash } from 'node:crypto';
import { LIST_KINDS, type Lists } from '../mcp/index.ts';
import { lruCache } from '../process/index.ts';
import type { Overlay } from './live-catalog.ts';

/** Different lists and overlays that are known at once; those beyond are as they would be without this. */
const MOST = 4_000;

/**
 * Gives users who see the same one value for it: most users of a backend do, and from an overlay a catalog with its
 * pages is made, which is then made once, for all of them and each time that it is listed again. Lists are compared by
 * all of their bytes. What no overlay has any more is not kept.
 */
export const sharedOverlays = (): ((overlay: Overlay) => Overlay) => {
  const lists = sharedValues<Lists>();
  const overlays = sharedValues<Overlay>();
  const digests = new WeakMap<Lists, string>();
  const sharedLists = (own: Lists): Lists => {
    if (digests.has(own)) return own;
    const digest = digestOf(own);
    const shared = lists(digest, own);
    digests.set(shared, digest);
    return shared;
  };
  const withSharedLists = (own: Overlay): Overlay => {
    const shared = own.map((each) => {
      const its = each.lists && sharedLists(each.lists);
      return !its || its === each.lists ? each : { ...each, lists: its };
    });
    return shared.every((each, index) => each === own[index]) ? own : shared;
  };
  return (own) => {
    const overlay = withSharedLists(own);
    const key: string[] = [];
    for (const { name, status, lists: its, error, message } of overlay) {
      // What is told of a backend that could not be listed is told to one user.
      if (!its || error || message !== undefined) return overlay;
      key.push(name, status, digests.get(its) ?? '');
    }
    return overlays(JSON.stringify(key), overlay);
  };
};

/** The value that was first given for a key and is still in use; else the one given now. */
const sharedValues = <V extends object>(): ((key: string, own: V) => V) => {
  const known = lruCache<WeakRef<V>>({ count: MOST, bytes: Infinity });
  return (key, own) => {
    const shared = known.get(key)?.deref();
    if (shared) return shared;
    known.set(key, new WeakRef(own), 0);
    return own;
  };
};

/** SHA-256 of all entries: an entry is made from its bytes alone, and its length keeps it apart from the next one. */
const digestOf = (lists: Lists): string => {
  const hash = createHash('sha256');
  for (const kind of LIST_KINDS) {
    hash.update(`${lists[kind].length};`);
    for (const { bytes } of lists[kind]) hash.update(`${bytes.length};`).update(bytes);
  }
  return hash.digest('base64url');
};
