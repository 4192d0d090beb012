import { parentPort } from 'node:worker_threads';

let called = 0;
const leftBehind: unknown[] = [];

/** A thread whose tasks do what no task should. */
const tasks: Readonly<Record<string, (input: unknown) => unknown>> = {
  echo: (input) => input,
  throw: (input) => {
    throw new Error(String(input));
  },
  count: () => (called += 1),
  spin: () => {
    for (;;);
  },
  hog: () => {
    const kept: unknown[] = [];
    for (;;) kept.push(Array.from({ length: 100_000 }, (_, index) => ({ index })));
  },
  // Each answer makes the next task poorer.
  keep: (size) => leftBehind.push(Array.from({ length: Number(size) / 8 }, (_, index) => index + 0.5)),
  /** The same, of bytes: how many they were. */
  keepFor: (bytes) => {
    leftBehind.push(Array.from({ length: 250_000 }, (_, index) => index + 0.5));
    return (bytes as Uint8Array).length;
  },
  /** Takes time that it does not use. */
  wait: (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(ms)),
  leave: () => process.exit(),
};

parentPort?.on('message', ({ task, input }: { readonly task: string; readonly input: unknown }) => {
  if (task === 'loadFirst') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(input));
  parentPort?.postMessage({ begun: process.threadCpuUsage() });
  try {
    parentPort?.postMessage({ output: tasks[task]?.(input) });
  } catch (error) {
    const { name, message } = error as Error;
    parentPort?.postMessage({ error: { name, message, stack: undefined } });
  }
});
