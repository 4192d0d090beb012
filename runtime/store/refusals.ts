import type { Clock } from '../process/index.ts';

/** Tracks commands that the store answers with an error: no memory, no permission, a full disk. */
export interface Refusals {
  readonly refused: (operation: string, reason: string) => void;
  readonly done: (operation: string) => void;
  /** Forgets all refusals, for a new connection. */
  readonly clear: () => void;
}

/** A store that refuses some commands and accepts others is reported at most twice in this time. */
const REPORT_INTERVAL_MS = 10_000;

/**
 * `onChange` gets the reason when a command is refused for the first time, and undefined when a command that was
 * refused succeeds again. Success of other commands proves nothing: a Redis without memory still reads.
 */
export const refusalsOf = (clock: Clock, onChange: (reason: string | undefined) => void): Refusals => {
  const operations = new Set<string>();
  let lastAt = 0;
  return {
    refused: (operation, reason) => {
      lastAt = clock.now();
      const isFirst = operations.size === 0;
      operations.add(operation);
      if (isFirst) onChange(reason);
    },
    done: (operation) => {
      if (!operations.has(operation) || clock.now() - lastAt < REPORT_INTERVAL_MS) return;
      operations.clear();
      onChange(undefined);
    },
    clear: () => operations.clear(),
  };
};
