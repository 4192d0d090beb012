let waiting: (() => void)[] = [];

/**
 * Runs `goOn` together with all other waiting functions after this turn of the event loop has read its input. Messages
 * of many clients and backends then pass each step in a batch, while the step's code is in the processor's cache: under
 * load that is worth more than anything else that was tried (bench/README.md). `goOn` must not throw: the functions
 * queued behind it would be lost. One queue for the process, as it has one event loop; nothing stays in it beyond a
 * turn.
 */
export const runInBatch = (goOn: () => void): void => {
  waiting.push(goOn);
  if (waiting.length === 1) setImmediate(runAll);
};

const runAll = (): void => {
  const all = waiting;
  waiting = [];
  for (const goOn of all) goOn();
};

/** Lets input be read and answered before a long run of work goes on. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => runInBatch(resolve));
