import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serveHealth } from '../../../operator/observe/health.ts';

test('/readyz follows readiness, /healthz the life of the process', async () => {
  let isReady = false;
  const server = await serveHealth(0, { isHealthy: () => true, isReady: () => isReady });
  const status = async (path: string): Promise<number> =>
    (await fetch(`http://127.0.0.1:${server.port}${path}`)).status;
  assert.deepEqual([await status('/healthz'), await status('/readyz')], [200, 503]);
  isReady = true;
  assert.equal(await status('/readyz?verbose'), 200);
  assert.equal(await status('/metrics-not-here'), 404);
  await server.stop();
  await assert.rejects(status('/healthz'));
});
