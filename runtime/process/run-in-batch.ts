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

/** Items that `eachOf` works on at one time. */
const AT_ONCE = 32;

/**
 * Runs `work` for every item, for 32 of them at one time, so that a slow one does not keep all others waiting, and
 * input is read in between. Rejects with the first failure.
 */
export const eachOf = async <T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> => {
  const waiting = items.values();
  const workOn = async (): Promise<void> => {
    for (const item of waiting) {
      await nextTurn();
      await work(item);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, workOn));
};
