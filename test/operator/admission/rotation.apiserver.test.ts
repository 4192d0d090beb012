import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../../cluster/index.ts';
import { freePortPair } from '../../fixtures/ports.ts';
import { installedCluster } from '../engine/cluster-under-test.ts';
import { type OperatorUnderTest, servers } from '../engine/operator-under-test.ts';
import { CONFIGURATION, installWebhook, SHORT_LIFETIMES, trustedBy } from './chart-webhook.ts';
import { type Requests, requestsTo } from './requests.ts';
import { object } from './context-under-test.ts';

const cluster = installedCluster(servers);
let requests: Requests;
const replicas: OperatorUnderTest[] = [];

before(async () => {
  await cluster.ready();
  requests = await requestsTo(cluster.plane);
  const port = await freePortPair();
  await installWebhook(cluster.plane, port, ['webhook.failurePolicy=Fail']);
  // They share the certificates; the API server comes to the first.
  for (const at of [port, port + 1]) {
    const webhook = { configuration: CONFIGURATION, port: at, drainMs: 0, lifetimes: SHORT_LIFETIMES, everyMs: 300 };
    replicas.push(await cluster.startOperator({ webhook, leaderElection: true }));
  }
  await until('the webhook to answer', async () => ((await ask()) === 422 ? true : undefined));
});
after(() => requests.close());

const bad = object('MCPServerEntry', 'bad', {
  groupRef: { name: 'tools' },
  remoteUrl: 'http://me:pw@a.example.com',
  transport: 'sse',
});

const ask = async (): Promise<number> => (await requests.create(bad, 'dryRun=All')).status;

const authorities = async (): Promise<readonly string[]> => {
  const [bundle = ''] = (await trustedBy(cluster.plane)).split(' ');
  return (
    Buffer.from(bundle, 'base64')
      .toString()
      .match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g) ?? []
  );
};

/** Many requests in the lifetime of a certificate, with processor time left for others. */
const BETWEEN_MS = 20;

test('while certificates and authorities come and go under load, with Fail no request is lost', async () => {
  const [first = ''] = await authorities();
  const answers: number[] = [];
  const load = new AbortController();
  const keepAsking = async (): Promise<void> => {
    while (!load.signal.aborted) {
      answers.push(await ask());
      await pause(BETWEEN_MS);
    }
  };
  const loads = [keepAsking(), keepAsking(), keepAsking()];
  const sizes = new Set<number>();
  const newest = new Set<string>();
  await until('the third authority', async () => {
    const now = await authorities();
    sizes.add(now.length);
    return newest.add(now[0] ?? '').size >= 3 && now.length === 1 && !now.includes(first) ? true : undefined;
  });
  load.abort();
  await Promise.all(loads);
  assert.deepEqual([...new Set(answers)], [422]);
  assert.ok(answers.length > 200, `${answers.length} answers`);
  // Old and new side by side, then the new alone.
  assert.deepEqual(sizes, new Set([1, 2]));
  for (const { log } of replicas) {
    const served = log.filter(({ message }) => message === 'a new certificate of the webhook is served');
    assert.ok(served.length >= 3, `${served.length} certificates`);
  }
});
