import { createHash } from 'node:crypto';
import { callerKey, type Caller, type User } from '../call/index.ts';
import type { ErrorCode } from '../errors.ts';
import type { Needed, OfferedBackend, Overlay } from './live-catalog.ts';
import { type LruBounds, lruCache, type LruCache } from '../process/index.ts';
import { overlayStore, type OverlayStore } from './overlay-store.ts';

export interface OverlayDeps {
  /**
   * Lists the backends that depend on the caller with the caller's credential, or those of `names` alone; undefined
   * where none does. It takes a bounded time, and a backend that fails is reported by its status, so that the others
   * are still listed.
   */
  readonly list: (caller: Caller, names?: ReadonlySet<string>) => Listing | undefined;
  /** A new value whenever the set of listed backends has changed. */
  readonly listed?: () => unknown;
  readonly now: () => number;
}

/** `count` and `bytes`: of different overlays. */
export interface OverlayBounds extends LruBounds {
  readonly users: number;
  readonly ttlMs: number;
  /** TTL of an overlay in which a backend has failed. */
  readonly failedTtlMs?: number;
  /** How long a backend is not asked again for which there was no credential for the same token. */
  readonly noCredentialTtlMs?: number;
}

/** The lists are counted as their backends wrote them; memory use is two or three times that. */
export const OVERLAY_BOUNDS: OverlayBounds = {
  users: 10_000,
  count: 1_000,
  bytes: 32 * 1024 * 1024,
  ttlMs: 60_000,
  failedTtlMs: 5_000,
  noCredentialTtlMs: 1_000,
};

/** What backends are being asked for. */
export interface Listing {
  readonly all: Promise<Overlay>;
  /** What those of these names list, without waiting for the others. */
  readonly only: (names: ReadonlySet<string>) => Promise<Overlay>;
}

interface CachedOverlay {
  /** In the store. */
  key?: string;
  listedAt: number;
  /** Value of `listed()` when the overlay was made. */
  listed?: unknown;
  refreshing?: Promise<Overlay>;
  /** What `refreshing` waits for, in parts, each made once. */
  parts?: {
    readonly of: Listing['only'];
    readonly made: Map<string, Promise<Overlay>>;
    /** The backends that are listed again, where not all are. */
    readonly changed: ReadonlySet<string> | undefined;
  };
  /** Asks the backends without a credential again. */
  asking?: { readonly done: Promise<void>; readonly token: string };
  /** When the backends without a credential were asked last, and the digest of the token that was shown. */
  askedAt: number;
  askedWith?: string;
  /** Backends whose lists may have changed since the overlay was listed, and whether the caller was told of any. */
  stale?: { readonly names: ReadonlySet<string>; readonly isTold: boolean };
}

/** The overlays of all callers. */
export interface Overlays {
  /**
   * Undefined: the caller sees the shared catalog alone. With `needed`, the overlay may lack other backends where it
   * would have to wait for them.
   */
  readonly of: (caller: Caller, needed?: Needed) => Overlay | Promise<Overlay> | undefined;
  /**
   * A list of this caller at a backend has changed (`told`), or may have changed before it was listened for
   * (`unknown`): the next request that is about this backend lists it again, and no other, and waits for it. True where
   * the caller has to be told: not where that has happened already, or the caller has no overlay.
   */
  readonly noteChange: (caller: Caller, change: 'told' | 'unknown', backend: string) => boolean;
  /**
   * Asks again the backends that the caller has no lists of for want of a credential, and resolves once they have
   * answered: the user may have signed in since. Undefined where there is nothing to ask.
   */
  readonly askAgain: (caller: Caller) => Promise<void> | undefined;
  /** Callers whose overlays are kept. */
  readonly count: () => number;
}

/**
 * The overlays of the most recent callers, by issuer and subject, each listed at most once at a time. An overlay older
 * than its TTL is listed again; the last good one is served meanwhile, for one more TTL, so that a revoked credential
 * shows nothing for long.
 */
export const overlays = (deps: OverlayDeps, bounds = OVERLAY_BOUNDS): Overlays => {
  const { now, listed = () => undefined } = deps;
  const known = lruCache<CachedOverlay>({ count: bounds.users, bytes: Infinity });
  const store = overlayStore(bounds);
  const { refresh, ask } = listing(deps, known, store);
  const noteChange: Overlays['noteChange'] = (caller, change, backend) => {
    const entry = known.get(callerKey(caller));
    if (!entry) return false;
    const wasTold = entry.stale?.isTold ?? false;
    const isTold = wasTold || change === 'told';
    // What is being listed may be from before the change: nobody waits for it from now on, and it is not kept.
    const listed = entry.parts?.changed ?? [];
    entry.stale = { names: new Set([...(entry.stale?.names ?? []), ...listed, backend]), isTold };
    delete entry.refreshing;
    delete entry.parts;
    return isTold && !wasTold;
  };
  const of: Overlays['of'] = (caller, needed) => {
    if (caller.kind !== 'user') return undefined;
    const key = callerKey(caller);
    const entry = known.get(key) ?? { listedAt: 0, askedAt: 0 };
    const ageMs = now() - entry.listedAt;
    const overlay = overlayIn(store, entry);
    const { stale } = entry;
    const isFresh = overlay !== undefined && ageMs < ttlOf(overlay, bounds) && entry.listed === listed();
    if (isFresh && !stale) return overlay;
    const names = needed?.();
    const hasChanged = (name: string): boolean => stale?.names.has(name) ?? false;
    if (isFresh && names && ![...names].some(hasChanged)) return overlay;
    const refreshing = entry.refreshing ?? refresh(entry, caller, isFresh ? stale?.names : undefined);
    if (!refreshing) return undefined;
    if (!overlay) known.set(key, entry, 0);
    if (overlay && !stale && ageMs < 2 * bounds.ttlMs) return overlay;
    return (names && partOf(entry, names)) ?? refreshing;
  };
  const askAgain: Overlays['askAgain'] = (caller) => {
    const entry = caller.kind === 'user' ? known.get(callerKey(caller)) : undefined;
    const without = (entry && overlayIn(store, entry)?.filter(hasNoCredential)) ?? [];
    if (caller.kind !== 'user' || !entry || without.length === 0) return undefined;
    const token = digestOf(caller);
    const { asking } = entry;
    if (asking) return asking.token === token ? asking.done : asking.done.then(() => askAgain(caller));
    const { noCredentialTtlMs = 0 } = bounds;
    const isKept = token === entry.askedWith && now() - entry.askedAt < noCredentialTtlMs;
    // To find out whether a user has signed in costs no request to an issuer.
    const asked = isKept ? without.filter(({ error }) => error?.code === 'login_required') : without;
    return asked.length > 0 ? ask(entry, caller, new Set(asked.map(({ name }) => name))) : undefined;
  };
  return { of, noteChange, askAgain, count: known.count };
};

const overlayIn = (store: Pick<OverlayStore, 'get'>, { key }: CachedOverlay): Overlay | undefined =>
  key === undefined ? undefined : store.get(key);

/** The overlay of an entry, from now on: the store may drop it meanwhile. */
const lastOf = (store: Pick<OverlayStore, 'get'>, entry: CachedOverlay): (() => Overlay | undefined) => {
  const now = overlayIn(store, entry);
  return () => overlayIn(store, entry) ?? now;
};

const noteAsked = (entry: CachedOverlay, caller: User, askedAt: number): void =>
  void Object.assign(entry, { askedAt, askedWith: digestOf(caller) });

/** What lists an overlay, or a part of it, and puts it into its entry. */
const listing = (
  { list, now, listed = () => undefined }: OverlayDeps,
  known: Pick<LruCache<CachedOverlay>, 'get' | 'set' | 'delete'>,
  store: OverlayStore,
) => {
  const put = (entry: CachedOverlay, caller: User, overlay: Overlay): void => {
    const key = callerKey(caller);
    if (known.get(key) !== entry) return;
    entry.key = store.keep(overlay, entry.key);
    known.set(key, entry, 0);
  };
  /** With `changed`, lists those alone, and the overlay is as old as it was. */
  const refresh = (
    entry: CachedOverlay,
    caller: User,
    changed: ReadonlySet<string> | undefined,
  ): Promise<Overlay> | undefined => {
    const [source, key] = [listed(), callerKey(caller)];
    const before = lastOf(store, entry);
    delete entry.stale;
    const listing = list(caller, changed);
    const joined = (lists: Overlay): Overlay => {
      const own = withLastGood(lists, before());
      return store.shared(changed ? replaced(before() ?? [], own) : own);
    };
    if (listing) entry.parts = { of: async (names) => joined(await listing.only(names)), made: new Map(), changed };
    const refreshing = listing?.all
      .then((lists) => {
        const overlay = joined(lists);
        if (!isNewest()) return overlay;
        if (!changed) {
          Object.assign(entry, { listedAt: now(), listed: source });
          noteAsked(entry, caller, now());
        }
        put(entry, caller, overlay);
        return overlay;
      })
      .catch((error: unknown) => {
        if (isNewest() && known.get(key) === entry && entry.key === undefined) known.delete(key);
        throw error;
      })
      .finally(() => isNewest() && delete entry.refreshing && delete entry.parts);
    const isNewest = (): boolean => entry.refreshing === refreshing;
    if (refreshing) entry.refreshing = refreshing;
    // A caller that waits gets the error; while the last good overlay is served no caller waits, and the next request
    // tries again.
    refreshing?.catch(() => {});
    return refreshing;
  };
  const ask = (entry: CachedOverlay, caller: User, names: ReadonlySet<string>): Promise<void> | undefined => {
    const before = lastOf(store, entry);
    const done = list(caller, names)
      ?.all.then((listed) => {
        noteAsked(entry, caller, now());
        put(entry, caller, store.shared(withNewlyListed(before() ?? [], listed)));
      })
      .finally(() => delete entry.asking);
    if (done) entry.asking = { done, token: digestOf(caller) };
    return done;
  };
  return { refresh, ask };
};

/**
 * What is being listed of these backends, without waiting for the others: the same value each time, as a catalog is
 * made of it. Undefined where nothing is being listed.
 */
const partOf = ({ parts }: CachedOverlay, names: ReadonlySet<string>): Promise<Overlay> | undefined => {
  if (!parts) return undefined;
  const key = JSON.stringify([...names]);
  const part = parts.made.get(key) ?? parts.of(names);
  parts.made.set(key, part);
  return part;
};

/** The overlay with these in place of what they said before. */
const replaced = (overlay: Overlay, newer: Overlay): Overlay =>
  overlay.map((each) => newer.find(({ name }) => name === each.name) ?? each);

/** No token stays in memory longer than its user. */
const digestOf = ({ token }: User): string => createHash('sha256').update(token).digest('base64url');

/** There was no credential for the user, and the backend has never been listed with one. */
const hasNoCredential = ({ status, lists }: OfferedBackend): boolean => status === 'unauthenticated' && !lists;

/** The overlay with the backends that were asked again; itself where they say what they said before. */
const withNewlyListed = (overlay: Overlay, asked: Overlay): Overlay => {
  const newer = new Map(asked.map((each) => [each.name, each]));
  const isChanged = ({ name, message, error, lists }: OfferedBackend): boolean => {
    const now = newer.get(name);
    return !lists && now !== undefined && (now.message !== message || now.error?.code !== error?.code || !!now.lists);
  };
  if (!overlay.some(isChanged)) return overlay;
  return overlay.map((each) => (isChanged(each) ? (newer.get(each.name) ?? each) : each));
};

/**
 * docs/decisions.md "Unavailable backends in lists": a backend that cannot be listed now keeps the lists that the
 * caller saw last, and stays listed where it only wants a sign-in. A backend that refuses the caller's credential shows
 * nothing any more.
 */
const withLastGood = (overlay: Overlay, before: Overlay = []): Overlay =>
  overlay.map((backend) => {
    if (backend.lists || backend.error?.code === 'backend_unauthenticated') return backend;
    const lists = before.find(({ name }) => name === backend.name)?.lists;
    const isStillListed = backend.status === 'unauthenticated' || NOT_ASKED.has(backend.error?.code);
    const status = isStillListed ? 'degraded' : backend.status;
    return lists ? { ...backend, status, lists } : backend;
  });

/** Nothing was sent to the backend, which shows nothing of it. */
const NOT_ASKED: ReadonlySet<ErrorCode | undefined> = new Set(['circuit_open', 'busy']);

const ttlOf = (overlay: Overlay, { ttlMs, failedTtlMs = ttlMs }: OverlayBounds): number =>
  overlay.some(({ status }) => status !== 'ready') ? failedTtlMs : ttlMs;

/** The backends with those of the overlay in place. An overlay may be older than the set of backends. */
export const withOverlay = (backends: readonly OfferedBackend[], overlay: Overlay): readonly OfferedBackend[] => {
  if (overlay.length === 0) return backends;
  const own = new Map(overlay.map((each) => [each.name, each]));
  return backends.map((backend) => own.get(backend.name) ?? backend);
};
