import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import type { FeatureDeps, Features } from '../../runtime/features.ts';
import { openGate } from '../../runtime/gate/index.ts';
import { fetchPolicies } from '../../runtime/http/fetch-policy.ts';
import type { GuardedClient } from '../../runtime/http/guarded-fetch.ts';
import { answerStatus, startBackend } from '../fixtures/backend.ts';
import { until } from '../cluster/until.ts';
import { noCertificates, testCertificates } from '../fixtures/certificates.ts';
import { frozenClock } from '../fixtures/frozen-clock.ts';
import { fails } from '../fixtures/guarded-fetch.ts';
import { startPlainServer } from '../fixtures/plain-server.ts';
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
      features: ({ config, store, fetchUnder, onStop }) => {
        const { fetch } = fetchUnder(fetchPolicies.token);
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
        return { gate: openGate };
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

test(
  'a feature’s HTTP client trusts the authorities that it names, and is closed by the feature or with the runtime',
  { skip: noCertificates },
  async (t) => {
    const certificates = await testCertificates();
    const [key, cert] = await Promise.all(
      [certificates.keyFile, certificates.certificateFile].map((file) => readFile(file, 'utf8')),
    );
    const server = await startPlainServer({ key: key ?? '', cert: cert ?? '' });
    t.after(() => Promise.all([server.close(), certificates.remove()]));
    const opened: GuardedClient[] = [];
    const running = await startRuntime(
      configFile({}),
      {},
      {
        features: ({ fetchUnder }) => {
          const { token } = fetchPolicies;
          opened.push(fetchUnder(token), ...[1, 2].map(() => fetchUnder(token, { caBundlePath: certificates.caFile })));
          return { gate: openGate };
        },
      },
    );
    const [untrusting, first, second] = opened;
    const url = server.origin;
    await assert.rejects(async () => untrusting?.fetch({ url }), fails('network_error'));
    assert.equal((await first?.fetch({ url }))?.status, 200);
    await first?.close();
    await assert.rejects(async () => first?.fetch({ url }), fails('closed'));
    assert.equal((await second?.fetch({ url }))?.status, 200);
    await running.stop();
    await assert.rejects(async () => second?.fetch({ url }), fails('closed'));
  },
);

test('what was opened is closed again where a feature cannot be made', async () => {
  const clock = frozenClock();
  let isClosed = false;
  const features = ({ onStop }: FeatureDeps): Partial<Features> => {
    onStop(async () => {
      isClosed = true;
    });
    return {
      routes: () => {
        throw new Error('no such route');
      },
    };
  };
  await assert.rejects(startRuntime(configFile({}), {}, { clock, features }), /no such route/);
  assert.equal(isClosed, true);
  assert.deepEqual(clock.pending(), []);
});

test('what features have opened is closed in the reverse order', async () => {
  const closed: string[] = [];
  const running = await startRuntime(
    configFile({}),
    {},
    {
      features: ({ onStop }) => {
        for (const name of ['first', 'second', 'third']) onStop(async () => void closed.push(name));
        return { gate: openGate };
      },
    },
  );
  await running.stop();
  assert.deepEqual(closed, ['third', 'second', 'first']);
});

test('a feature that does not end holds up neither the stop for long nor the end of others', async () => {
  const clock = frozenClock();
  const ended: string[] = [];
  const running = await startRuntime(
    configFile({}),
    {},
    {
      clock,
      features: ({ onStop }) => {
        onStop(async () => void ended.push('another'));
        onStop(() => new Promise(() => {}));
        return { gate: openGate };
      },
    },
  );
  void running.stop().then(() => ended.push('all'));
  await until('the stop', async () => (clock.advance(500), ended.includes('all') ? true : undefined), {
    intervalMs: 1,
  });
  assert.deepEqual(ended, ['another', 'all']);
  assert.deepEqual(clock.pending(), []);
});

test('what two doors of the runtime have behind them is made once', async (t) => {
  const running = await startRuntime(
    configFile({}),
    {},
    {
      features: () => {
        const seen: string[] = [];
        return {
          gate: {
            ...openGate,
            authenticate: (head) => {
              seen.push(head.http);
              return openGate.authenticate(head);
            },
          },
          routes: () => [(routes) => void routes.get('/seen', () => seen)],
        };
      },
    },
  );
  t.after(() => running.stop());
  await openSession(running.url);
  assert.deepEqual(await (await fetch(new URL('/seen', running.url))).json(), ['POST', 'POST']);
});
