import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openGate } from '../../runtime/gate/index.ts';
import { fetchPolicies } from '../../runtime/fetch-policy.ts';
import { answerStatus, startBackend } from '../fixtures/backend.ts';
import { openSession } from '../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';

test('a feature follows the configuration, keeps things in the store, and is closed before it', async (t) => {
  const tokenEndpoint = await startBackend({ on: () => answerStatus(200, '{}') });
  t.after(() => tokenEndpoint.close());
  const steps: string[] = [];
  let fetchToken: (() => Promise<number>) | undefined;
  const running = await startRuntime(
    configFile({}),
    {},
    {
      features: {
        gate: ({ config, store, fetchUnder, onStop }) => {
          const fetch = fetchUnder(fetchPolicies.token);
          fetchToken = async () => (await fetch({ url: tokenEndpoint.url, method: 'POST', body: '' })).status;
          config.onReload(({ name }) => {
            steps.push(`prepares ${name}`);
            if (name === 'bad') throw new Error('no such policy');
            return () => void steps.push(`changes over to ${name}`);
          });
          onStop(async () => {
            await store.set('feature:last', Buffer.from('word'), 1_000);
            steps.push(`last ${(await store.get('feature:last'))?.toString()}`);
          });
          onStop(() => Promise.reject(new Error('one that fails stops no other')));
          return openGate;
        },
      },
    },
  );
  await openSession(running.url);
  assert.equal(await fetchToken?.(), 200);
  assert.deepEqual(running.reload(configFile({}, { name: 'bad' })), {
    ok: false,
    problems: ['it cannot be served: no such policy'],
  });
  assert.deepEqual(running.reload(configFile({}, { name: 'good' })), { ok: true });
  await running.stop();
  assert.deepEqual(steps, ['prepares bad', 'prepares good', 'changes over to good', 'last word']);
  await assert.rejects(async () => fetchToken?.(), /closed/);
});
