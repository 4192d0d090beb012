import type { Clock } from '../../process/index.ts';
import type { Store } from '../../store/index.ts';

/** The time in which a refresh token that was replaced gets its answer again. */
export interface ReuseWindow {
  readonly isOpen: boolean;
  readonly contains: (spentAtMs: number) => boolean;
  /** Life of an answer. */
  readonly keptMs: number;
  readonly close: () => void;
}

/** Time that answers are kept for windows that begin later. */
const OUTAGE_MS = 2 * 60_000;

/**
 * The window begins when the token was replaced; or, where the store or this process was away since, when it was there
 * again: a client whose answer was lost then could not come back before.
 */
export const reuseWindow = (
  windowMs: number,
  { store, clock }: { readonly store: Store; readonly clock: Clock },
): ReuseWindow => {
  let reachedAtMs = clock.now();
  const close = store.onState((state) => {
    if (state === 'up') reachedAtMs = clock.now();
  });
  return {
    isOpen: windowMs > 0,
    contains: (spentAtMs) => windowMs > 0 && clock.now() < Math.max(spentAtMs, reachedAtMs) + windowMs,
    keptMs: windowMs + OUTAGE_MS,
    close,
  };
};
