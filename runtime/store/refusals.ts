import type { Clock } from '../clock.ts';

/** Commands that a store which is there answers with an error: no room, no right, a disk that is full. */
export interface Refusals {
  readonly refused: (operation: string, reason: string) => void;
  readonly done: (operation: string) => void;
  /** A new connection has refused nothing yet. */
  readonly clear: () => void;
}

/** A store that refuses some and takes others is told of twice in so long, not twice for each. */
const SETTLED_MS = 10_000;

/**
 * `onChange` hears the reason when a command is refused for the first time, and undefined when one of those refused is carried out
 * again. Others that are carried out say nothing: a Redis without room still reads.
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
      if (!operations.has(operation) || clock.now() - lastAt < SETTLED_MS) return;
      operations.clear();
      onChange(undefined);
    },
    clear: () => operations.clear(),
  };
};
