import { withSleep } from '../../../operator/engine/clock.ts';
import type { Clock } from '../../../operator/engine/clock.ts';

/** A clock that stands still until it is moved. */
export interface ManualClock extends Clock {
  /** Moves on, running what falls due in order; promises settle between two of them. */
  advance(ms: number): Promise<void>;
}

export const manualClock = (startMs = 1_000_000): ManualClock => {
  let nowMs = startMs;
  let timers: { readonly dueAt: number; readonly run: () => void }[] = [];
  const clock = withSleep({
    now: () => nowMs,
    after: (delayMs, run) => {
      const timer = { dueAt: nowMs + delayMs, run };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
  });
  const advance = async (ms: number): Promise<void> => {
    const end = nowMs + ms;
    await settled();
    for (;;) {
      const next = timers.toSorted((a, b) => a.dueAt - b.dueAt)[0];
      if (next === undefined || next.dueAt > end) {
        break;
      }
      timers = timers.filter((other) => other !== next);
      nowMs = next.dueAt;
      next.run();
      await settled();
    }
    nowMs = end;
  };
  return { ...clock, advance };
};

/** After every promise that can go on without time passing. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
