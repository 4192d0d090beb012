import type { Clock } from '../../process/index.ts';
import type { Store } from '../../store/index.ts';

/** The time in which a refresh token that was replaced gets its answer again. */
export interface ReuseWindow {
  readonly isOpen: boolean;
  /** `spentAtMs` and `nowMs` by the clock of the store, since replicas have a clock each. */
  readonly contains: (spentAtMs: number, nowMs: number) => boolean;
  /** Life of an answer. */
  readonly keptMs: number;
}

/** When the store was there again, as this process has seen it by its own clock. */
export interface StoreReach {
  readonly reachedAtMs: () => number;
  readonly close: () => void;
}

/** Time that answers are kept for windows that begin later. */
const OUTAGE_MS = 2 * 60_000;

/** To be begun once in a process: other settings do not mean that the store was away. */
export const storeReach = ({ store, clock }: { readonly store: Store; readonly clock: Clock }): StoreReach => {
  let reachedAtMs = clock.now();
  const close = store.onState((state) => {
    if (state === 'up') reachedAtMs = clock.now();
  });
  return { reachedAtMs: () => reachedAtMs, close };
};

/**
 * The window begins when the token was replaced; or, where the store or this process was away since, when it was there
 * again: a client whose answer was lost then could not come back before.
 */
export const reuseWindow = (
  windowMs: number,
  { reach, clock }: { readonly reach: Pick<StoreReach, 'reachedAtMs'>; readonly clock: Clock },
): ReuseWindow => ({
  isOpen: windowMs > 0,
  contains: (spentAtMs, nowMs) =>
    windowMs > 0 && (nowMs < spentAtMs + windowMs || clock.now() < reach.reachedAtMs() + windowMs),
  keptMs: windowMs + OUTAGE_MS,
});
