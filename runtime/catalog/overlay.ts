import { callerKey, type Caller } from '../call/index.ts';
import type { ErrorCode } from '../errors.ts';
import { LIST_KINDS } from '../mcp/index.ts';
import type { OfferedBackend, Overlay } from './live-catalog.ts';
import { lruCache, type LruBounds } from '../process/index.ts';

export interface OverlayDeps {
  /**
   * Lists the backends that depend on the caller with the caller's credential; undefined where none does. It takes a
   * bounded time, and a backend that fails is reported by its status, so that the others are still listed.
   */
  readonly list: (caller: Caller) => Promise<Overlay> | undefined;
  /** A new value whenever the set of listed backends has changed. */
  readonly listed?: () => unknown;
  readonly now: () => number;
}

export interface OverlayBounds extends LruBounds {
  readonly ttlMs: number;
  /** TTL of an overlay in which a backend has failed. */
  readonly failedTtlMs?: number;
}

/**
 * At most `count` callers, and `bytes` of lists as their backends wrote them; memory use is two or three times that.
 */
export const OVERLAY_BOUNDS: OverlayBounds = {
  count: 1_000,
  bytes: 32 * 1024 * 1024,
  ttlMs: 60_000,
  failedTtlMs: 5_000,
};

interface CachedOverlay {
  overlay?: Overlay;
  listedAt: number;
  /** Value of `listed()` when the overlay was made. */
  listed?: unknown;
  refreshing?: Promise<Overlay>;
  /** A backend has notified of a changed list since the overlay was listed. */
  isStale?: boolean;
}

/** The overlays of all callers. */
export interface Overlays {
  /** Undefined: the caller sees the shared catalog alone. */
  readonly of: (caller: Caller) => Overlay | Promise<Overlay> | undefined;
  /**
   * A backend has notified this caller of a changed list: the next request lists again, and waits for it. False where
   * that was known already, or the caller has no overlay.
   */
  readonly noteChange: (caller: Caller) => boolean;
  /** Callers whose overlays are kept. */
  readonly count: () => number;
}

/**
 * The overlays of the most recent callers, by issuer and subject, each listed at most once at a time. An overlay older
 * than its TTL is listed again; the last good one is served meanwhile, for one more TTL, so that a revoked credential
 * shows nothing for long.
 */
export const overlays = ({ list, now, listed = () => undefined }: OverlayDeps, bounds = OVERLAY_BOUNDS): Overlays => {
  const known = lruCache<CachedOverlay>(bounds);
  const refresh = (key: string, entry: CachedOverlay, caller: Caller): Promise<Overlay> | undefined => {
    const source = listed();
    entry.isStale = false;
    const refreshing = list(caller)
      ?.then((listed) => {
        const overlay = withLastGood(listed, entry.overlay);
        Object.assign(entry, { overlay, listedAt: now(), listed: source });
        if (known.get(key) === entry) known.set(key, entry, bytesOf(overlay));
        return overlay;
      })
      .catch((error: unknown) => {
        if (known.get(key) === entry && entry.overlay === undefined) known.delete(key);
        throw error;
      })
      .finally(() => delete entry.refreshing);
    if (refreshing) entry.refreshing = refreshing;
    // A caller that waits gets the error; while the last good overlay is served no caller waits, and the next request
    // tries again.
    refreshing?.catch(() => {});
    return refreshing;
  };
  const noteChange = (caller: Caller): boolean => {
    const entry = known.get(callerKey(caller));
    if (!entry?.overlay || entry.isStale) return false;
    entry.isStale = true;
    return true;
  };
  const of: Overlays['of'] = (caller) => {
    if (caller.kind !== 'user') return undefined;
    const key = callerKey(caller);
    const entry = known.get(key) ?? { listedAt: 0 };
    const ageMs = now() - entry.listedAt;
    const { isStale = false } = entry;
    const isFresh =
      !isStale && entry.overlay !== undefined && ageMs < ttlOf(entry.overlay, bounds) && entry.listed === listed();
    const refreshing = isFresh ? undefined : (entry.refreshing ?? refresh(key, entry, caller));
    if (!isFresh && !refreshing) return undefined;
    if (!entry.overlay) known.set(key, entry, 0);
    return !isStale && ageMs < 2 * bounds.ttlMs ? (entry.overlay ?? refreshing) : refreshing;
  };
  return { of, noteChange, count: known.count };
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

const bytesOf = (overlay: Overlay): number =>
  overlay
    .flatMap(({ lists }) => (lists ? LIST_KINDS.flatMap((kind) => lists[kind]) : []))
    .reduce((sum, { bytes }) => sum + bytes.length, 0);

/** The backends with those of the overlay in place. An overlay may be older than the set of backends. */
export const withOverlay = (backends: readonly OfferedBackend[], overlay: Overlay): readonly OfferedBackend[] => {
  if (overlay.length === 0) return backends;
  const own = new Map(overlay.map((each) => [each.name, each]));
  return backends.map((backend) => own.get(backend.name) ?? backend);
};
