let waiting: (() => void)[] = [];

/**
 * Runs `goOn` after everything that this turn of the event loop brings has been read, with whatever else waits for that. What many
 * clients and backends send then goes through one step after another together, while the processor still has the code of that step at
 * hand: under load that is worth more than anything else that was tried (bench/README.md). `goOn` must not throw: those behind it would be lost.
 * One queue for the process, as it has one event loop; nothing stays in it beyond a turn.
 */
export const together = (goOn: () => void): void => {
  waiting.push(goOn);
  if (waiting.length === 1) setImmediate(runAll);
};

const runAll = (): void => {
  const all = waiting;
  waiting = [];
  for (const goOn of all) goOn();
};
