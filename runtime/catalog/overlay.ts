import type { Caller } from '../call.ts';
import type { OfferedBackend } from './offer.ts';

/** What backends that list only with a caller's credential offer to that caller: the same value until it is listed again. */
export type Overlay = readonly OfferedBackend[];

export interface OverlayDeps {
  /** Lists those backends with the caller's credential; undefined where none depends on this caller. Bounded in time by who gives it. */
  readonly list: (caller: Caller) => Promise<Overlay> | undefined;
  readonly now: () => number;
}

export interface OverlayBounds {
  /** Callers remembered. */
  readonly callers: number;
  readonly ttlMs: number;
}

export const OVERLAY_BOUNDS: OverlayBounds = { callers: 1_000, ttlMs: 60_000 };

interface Remembered {
  overlay?: Overlay;
  listedAt: number;
  refreshing?: Promise<Overlay>;
}

/**
 * The overlays of the callers that asked last, by issuer and subject, each listed at most once at a time. When one is older than its
 * TTL, it is listed again, and the last good one is served meanwhile: for one more TTL, so that a credential that was revoked shows
 * nothing for long.
 */
export const overlays = (
  { list, now }: OverlayDeps,
  bounds = OVERLAY_BOUNDS,
): ((caller: Caller) => Overlay | Promise<Overlay> | undefined) => {
  // Maps keep the order of insertion: the first key is the caller who has not asked for longest.
  const known = new Map<string, Remembered>();
  const refresh = (key: string, entry: Remembered, caller: Caller): Promise<Overlay> | undefined => {
    const refreshing = list(caller)
      ?.then((overlay) => {
        Object.assign(entry, { overlay, listedAt: now() });
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
    const key = JSON.stringify([caller.issuer, caller.subject]);
    const entry = known.get(key) ?? { listedAt: 0 };
    const ageMs = now() - entry.listedAt;
    const isFresh = entry.overlay !== undefined && ageMs < bounds.ttlMs;
    const refreshing = isFresh ? undefined : (entry.refreshing ?? refresh(key, entry, caller));
    if (!isFresh && !refreshing) return undefined;
    remember(known, key, entry, bounds.callers);
    return ageMs < 2 * bounds.ttlMs ? (entry.overlay ?? refreshing) : refreshing;
  };
};

const remember = (known: Map<string, Remembered>, key: string, entry: Remembered, atMost: number): void => {
  known.delete(key);
  known.set(key, entry);
  const [oldest] = known.keys();
  if (known.size > atMost && oldest !== undefined) known.delete(oldest);
};
