import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../../runtime/start.ts';
import { until } from '../../cluster/until.ts';
import { answerError, answerJson, type Exchange, type FixtureBackend, startBackend } from '../../fixtures/backend.ts';
import { acceptListening, tellOn } from '../../fixtures/listening.ts';
import { noRedis, startRedis, type TestRedis } from '../../fixtures/redis.ts';
import {
  type ClientStream,
  openShared,
  type SharedSession,
  sharedConfig,
  startReplica,
} from '../../fixtures/replicas.ts';

const soon = { timeoutMs: 10_000, intervalMs: 5 };
const URI = 'a://1';
const UPDATED = 'notifications/resources/updated';
const DISCOVERED = '{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"resources":{"subscribe":true}}}';

describe('a subscription at a backend of 2026-07-28, in a session that replicas share', { skip: noRedis }, () => {
  let redis: TestRedis;
  let backend: FixtureBackend;
  let one: Running;
  let two: Running;
  let session: SharedSession;
  /** What listens for the resource at the backend. */
  const watching = new Set<ServerResponse>();

  const on = ({ recorded: { method, params } }: Exchange) => {
    if (method === 'server/discover') return answerJson(DISCOVERED);
    if (method === 'tools/list') return answerJson('{"resultType":"complete","tools":[]}');
    if (method === 'resources/list')
      return answerJson(`{"resultType":"complete","resources":[{"uri":"${URI}","name":"1"}]}`);
    if (method === 'resources/templates/list') return answerJson('{"resultType":"complete","resourceTemplates":[]}');
    if (method !== 'subscriptions/listen') return answerError('{"code":-32601,"message":"no"}');
    return (exchange: Exchange) => {
      acceptListening(exchange);
      const { response } = exchange;
      if (!JSON.stringify(params).includes(URI)) return;
      watching.add(response);
      response.on('close', () => watching.delete(response));
    };
  };
  const update = (): void => {
    for (const response of watching) tellOn(response, UPDATED, { uri: URI });
  };
  const subscribe = (url: string, method = 'resources/subscribe') =>
    session.send(url, { id: method, method, params: { uri: URI } });
  const updatesOn = ({ messages }: ClientStream): number => messages.filter(({ method }) => method === UPDATED).length;
  const watchers = (count: number) =>
    until(`${count} watchers`, async () => (watching.size === count ? true : undefined), soon);

  before(async () => {
    redis = await startRedis();
  });
  after(() => redis.stop());
  beforeEach(async () => {
    watching.clear();
    backend = await startBackend({ on });
    const files = sharedConfig(redis.address, { a: backend.url });
    [one, two] = await Promise.all([startReplica(files), startReplica(files)]);
    session = await openShared(one.url);
  });
  afterEach(async () => {
    await Promise.all([one.stop(), two.stop()]);
    await backend.close();
  });

  test('reaches the replica where the client listens', async () => {
    const stream = await session.listen(two.url);
    await subscribe(one.url);
    await watchers(1);
    update();
    await stream.heard(UPDATED);
    assert.equal(updatesOn(stream), 1);
    stream.close();
  });

  test('goes to the replica that the client comes back to, and is held once', async () => {
    await subscribe(one.url);
    const stream = await session.listen(two.url);
    await until(
      'two watches',
      async () =>
        backend.requests.filter(({ body }) => body.includes(URI) && body.includes('listen')).length === 2
          ? true
          : undefined,
      soon,
    );
    await watchers(1);
    update();
    await stream.heard(UPDATED);
    assert.equal(updatesOn(stream), 1);
    stream.close();
  });

  test('outlives the replica that took it', async () => {
    await subscribe(one.url);
    await watchers(1);
    await one.stop();
    await watchers(0);
    const stream = await session.listen(two.url);
    await watchers(1);
    update();
    await stream.heard(UPDATED);
    stream.close();
  });

  test('ends for all replicas, whichever gets the request', async () => {
    await subscribe(one.url);
    await watchers(1);
    await subscribe(two.url, 'resources/unsubscribe');
    await watchers(0);
    const stream = await session.listen(two.url);
    await session.call(two.url, 1, 'none');
    assert.equal(watching.size, 0);
    stream.close();
  });
});
