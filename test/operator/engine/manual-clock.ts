import type { Clock } from '../../../runtime/process/clock.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';

/** A clock that stands still until it is moved. */
export interface ManualClock extends Clock {
  /** Moves on, running what falls due in order; promises settle between two of them. */
  advance(ms: number): Promise<void>;
}

export const manualClock = (startMs = 1_000_000): ManualClock => {
  const clock = frozenClock(startMs);
  const advance = async (ms: number): Promise<void> => {
    const end = clock.now() + ms;
    await settled();
    for (;;) {
      const [next = Number.POSITIVE_INFINITY] = clock.pending();
      const leftMs = end - clock.now();
      clock.advance(Math.max(0, Math.min(next, leftMs)));
      await settled();
      if (next > leftMs) {
        return;
      }
    }
  };
  return { now: clock.now, after: clock.after, advance };
};

/** After every promise that can go on without time passing. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
