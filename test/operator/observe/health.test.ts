import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serveHealth } from '../../../operator/observe/health.ts';

const metrics = { contentType: 'text/plain; version=0.0.4', text: () => Promise.resolve('up 1\n') };

test('/readyz follows readiness, /healthz the life of the process', async () => {
  let isReady = false;
  const server = await serveHealth(0, { isHealthy: () => true, isReady: () => isReady }, metrics);
  const status = async (path: string): Promise<number> =>
    (await fetch(`http://127.0.0.1:${server.port}${path}`)).status;
  assert.deepEqual([await status('/healthz'), await status('/readyz')], [200, 503]);
  isReady = true;
  assert.equal(await status('/readyz?verbose'), 200);
  assert.equal(await status('/elsewhere'), 404);
  await server.stop();
  await assert.rejects(status('/healthz'));
});

test('/metrics is answered in its own form, ready or not; what cannot be read is a 500 and no end', async () => {
  let text = metrics.text;
  const exposition = { ...metrics, text: () => text() };
  const server = await serveHealth(0, { isHealthy: () => true, isReady: () => false }, exposition);
  const url = `http://127.0.0.1:${server.port}/metrics`;
  const answer = await fetch(url);
  assert.deepEqual([answer.status, await answer.text()], [200, 'up 1\n']);
  assert.equal(answer.headers.get('content-type'), metrics.contentType);
  text = () => Promise.reject(new Error('a gauge is broken'));
  const broken = await fetch(url);
  assert.deepEqual([broken.status, await broken.text()], [500, 'internal error\n']);
  await server.stop();
});
