/** What a process of load has seen. */
export interface Seen {
  readonly calls: number;
  readonly seconds: number;
  readonly p50: number;
  readonly p99: number;
}

/** Of calls that have taken so many milliseconds each since `start` (`performance.now()`). */
export const seenSince = (start: number, latencies: readonly number[]): Seen => {
  const seconds = (performance.now() - start) / 1_000;
  const sorted = latencies.toSorted((a, b) => a - b);
  return {
    calls: sorted.length,
    seconds,
    p50: sorted[sorted.length >> 1] ?? NaN,
    p99: sorted[Math.floor(sorted.length * 0.99)] ?? NaN,
  };
};

/** Says `warm` to the parent of this process, then runs for each number that it sends, and tells what was seen. */
export const runAsTold = (run: (amount: number) => Promise<Seen>): void => {
  process.on('message', (amount) => {
    run(Number(amount)).then(
      (seen) => process.send?.(seen),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
  process.on('disconnect', () => process.exit());
  process.send?.('warm');
};
