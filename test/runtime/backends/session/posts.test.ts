import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { count, startBackend } from '../../../fixtures/backend.ts';
import { openSession } from '../../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../../fixtures/runtime.ts';

test('of log levels that a client sets while one is on its way, the backend is told the last one, before the next call', async () => {
  const held = Promise.withResolvers<void>();
  const backend = await startBackend({
    capabilities: { logging: {} },
    on: ({ recorded }) =>
      recorded.method === 'logging/setLevel'
        ? ({ id, response }) =>
            void held.promise.then(() =>
              response
                .writeHead(200, { 'content-type': 'application/json' })
                .end(`{"jsonrpc":"2.0","id":${id},"result":{}}`),
            )
        : undefined,
  });
  const running = await startRuntime(configFile({ a: backend.url }));
  const session = await openSession(running.url);
  await session.call('a_echo');
  for (let i = 0; i < 20; i += 1)
    for (const level of ['debug', 'error']) await session.request('logging/setLevel', { level });
  const call = session.call('a_echo');
  await setTimeout(50);
  assert.equal(count(backend, 'logging/setLevel'), 1);
  assert.equal(count(backend, 'tools/call'), 1);
  held.resolve();
  assert.equal((await call).status, 200);
  const levels = backend.requests.flatMap(({ method, params }) =>
    method === 'logging/setLevel' ? [params['level']] : [],
  );
  assert.deepEqual(levels, ['debug', 'error']);
  await running.stop();
  await backend.close();
});
