import { createServer } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

/** How long other work kept the event loop of a process from its turn, in milliseconds. */
export interface LoopDelay {
  readonly p999: number;
  readonly max: number;
}

/**
 * Imported into a process (`--import …/monitor.ts?port=8080`): `GET /` of that port answers the delays since it was
 * last asked.
 */
const port = new URL(import.meta.url).searchParams.get('port');

// Threads of the process import it as well.
if (isMainThread && port !== null) {
  const resolution = 2;
  const delays = monitorEventLoopDelay({ resolution });
  delays.enable();
  const inMs = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e6 - resolution);
  createServer((_, response) => {
    const told: LoopDelay = { p999: inMs(delays.percentile(99.9)), max: inMs(delays.max) };
    delays.reset();
    response.end(JSON.stringify(told));
  })
    .listen(Number(port), '127.0.0.1')
    .unref();
}
