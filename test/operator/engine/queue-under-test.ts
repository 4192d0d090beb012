import { KeyedQueue } from '../../../operator/engine/queue.ts';
import type { QueueOptions, WorkResult } from '../../../operator/engine/queue.ts';
import { manualClock } from './manual-clock.ts';
import type { ManualClock } from './manual-clock.ts';

/** A running queue, the keys it took up and the failures it reported. */
export interface QueueUnderTest {
  readonly clock: ManualClock;
  readonly queue: KeyedQueue;
  /** Keys in the order they were taken up, with the time since the start. */
  readonly taken: string[];
  readonly failures: string[];
  /** How long each waited for a worker. */
  readonly waits: number[];
  readonly ended: Promise<void>;
  readonly stop: () => void;
}

export const startQueue = (
  work: (key: string, isEarly: boolean) => Promise<WorkResult> = () => Promise.resolve({}),
  options: Partial<QueueOptions> = {},
) => {
  const clock = manualClock(0);
  const taken: string[] = [];
  const failures: string[] = [];
  const waits: number[] = [];
  const queue = new KeyedQueue(
    {
      workers: 2,
      maxWorkersPerTenant: 2,
      tenantOf: (key) => key.split('/')[0] ?? '',
      debounceMs: 500,
      maxDebounceMs: 3000,
      retry: { baseMs: 1000, maxMs: 8000 },
      ...options,
    },
    {
      clock,
      random: () => 1,
      onFailure: (key, _, delayMs) => failures.push(`${key} +${delayMs}`),
      onTaken: (ms) => waits.push(ms),
    },
  );
  const stopping = new AbortController();
  const ended = queue.run((key, _signal, isEarly) => {
    taken.push(`${key}@${clock.now()}`);
    return work(key, isEarly);
  }, stopping.signal);
  return { clock, queue, taken, failures, waits, ended, stop: () => stopping.abort() };
};
