import { callerKey, type Caller } from '../call.ts';
import { LIST_KINDS } from '../listed.ts';
import type { OfferedBackend } from './offer.ts';
import { recent, type RecentBounds } from '../recent.ts';

/** What backends that list only with a caller's credential offer to that caller: the same value until it is listed again. */
export type Overlay = readonly OfferedBackend[];

export interface OverlayDeps {
  /**
   * Lists those backends with the caller's credential; undefined where none depends on this caller. It takes a bounded time, and tells a
   * backend that fails by its status, so that one of them fails no other's list.
   */
  readonly list: (caller: Caller) => Promise<Overlay> | undefined;
  /** Another value whenever other backends are listed than before. */
  readonly listed?: () => unknown;
  readonly now: () => number;
}

export interface OverlayBounds extends RecentBounds {
  readonly ttlMs: number;
  /** Of one where a backend has failed. */
  readonly failedTtlMs?: number;
}

/** `count` callers, whose lists have `bytes` together as their backends wrote them; they are held two or three times over. */
export const OVERLAY_BOUNDS: OverlayBounds = {
  count: 1_000,
  bytes: 32 * 1024 * 1024,
  ttlMs: 60_000,
  failedTtlMs: 5_000,
};

interface Remembered {
  overlay?: Overlay;
  listedAt: number;
  /** What was listed. */
  listed?: unknown;
  refreshing?: Promise<Overlay>;
}

/**
 * The overlays of the callers that asked last, by issuer and subject, each listed at most once at a time. When one is older than its
 * TTL, it is listed again, and the last good one is served meanwhile: for one more TTL, so that a credential that was revoked shows
 * nothing for long.
 */
export const overlays = (
  { list, now, listed = () => undefined }: OverlayDeps,
  bounds = OVERLAY_BOUNDS,
): ((caller: Caller) => Overlay | Promise<Overlay> | undefined) => {
  const known = recent<Remembered>(bounds);
  const refresh = (key: string, entry: Remembered, caller: Caller): Promise<Overlay> | undefined => {
    const source = listed();
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
    // Whoever waits hears of a failure; while the last good one is served nobody does, and the next one to ask tries again.
    refreshing?.catch(() => {});
    return refreshing;
  };
  return (caller) => {
    if (caller.kind !== 'user') return undefined;
    const key = callerKey(caller);
    const entry = known.get(key) ?? { listedAt: 0 };
    const ageMs = now() - entry.listedAt;
    const isFresh = entry.overlay !== undefined && ageMs < ttlOf(entry.overlay, bounds) && entry.listed === listed();
    const refreshing = isFresh ? undefined : (entry.refreshing ?? refresh(key, entry, caller));
    if (!isFresh && !refreshing) return undefined;
    if (!entry.overlay) known.set(key, entry, 0);
    return ageMs < 2 * bounds.ttlMs ? (entry.overlay ?? refreshing) : refreshing;
  };
};

/**
 * decisions, `partialFailureMode`: what a backend cannot be asked for now stays as the caller last saw it, and listed where only a sign-in
 * is wanted. A backend that refuses the caller's credential itself shows nothing any more.
 */
const withLastGood = (overlay: Overlay, before: Overlay = []): Overlay =>
  overlay.map((backend) => {
    if (backend.lists || backend.error?.code === 'backend_unauthenticated') return backend;
    const lists = before.find(({ name }) => name === backend.name)?.lists;
    const status = backend.status === 'unauthenticated' ? 'degraded' : backend.status;
    return lists ? { ...backend, status, lists } : backend;
  });

const ttlOf = (overlay: Overlay, { ttlMs, failedTtlMs = ttlMs }: OverlayBounds): number =>
  overlay.some(({ status }) => status !== 'ready') ? failedTtlMs : ttlMs;

const bytesOf = (overlay: Overlay): number =>
  overlay
    .flatMap(({ lists }) => (lists ? LIST_KINDS.flatMap((kind) => lists[kind]) : []))
    .reduce((sum, { bytes }) => sum + bytes.length, 0);

/** An overlay may be older than the set of backends. */
export const withOverlay = (backends: readonly OfferedBackend[], overlay: Overlay): readonly OfferedBackend[] => {
  if (overlay.length === 0) return backends;
  const own = new Map(overlay.map((each) => [each.name, each]));
  return backends.map((backend) => own.get(backend.name) ?? backend);
};
