import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { parentPort, Worker, workerData } from 'node:worker_threads';

/** Sends the chart's probes 20 times a second, from a thread of its own: the trial's is busy with the attack. */
export interface Prober {
  /** Longest time until both had answered, in milliseconds. Rejects when one failed. */
  readonly stop: () => Promise<number>;
}

export const startProber = (healthPort: number): Prober => {
  const worker = new Worker(new URL(import.meta.url), { workerData: { healthPort } });
  // A trial that fails does not stop it.
  worker.unref();
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  worker.once('message', resolve).once('error', reject);
  // Told by `stop`.
  promise.catch(() => {});
  return {
    stop: () => {
      worker.ref();
      worker.postMessage('stop');
      return promise;
    },
  };
};

const probe = async (port: number): Promise<void> => {
  for (const path of ['healthz', 'readyz'])
    assert.ok((await fetch(`http://127.0.0.1:${port}/${path}`)).ok, `/${path} fails`);
};

const probeUntilTold = async (port: number, told: { isOver: boolean }): Promise<number> => {
  let longestMs = 0;
  while (!told.isOver) {
    const beganAt = performance.now();
    await probe(port);
    longestMs = Math.max(longestMs, performance.now() - beganAt);
    await pause(50);
  }
  return longestMs;
};

const { healthPort } = (workerData ?? {}) as { readonly healthPort?: number };
if (healthPort !== undefined && parentPort !== null) {
  const told = { isOver: false };
  parentPort.once('message', () => (told.isOver = true));
  parentPort.postMessage(await probeUntilTold(healthPort, told));
}
