import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../../runtime/start.ts';
import { until } from '../../cluster/until.ts';
import { count, type Exchange, type FixtureBackend, startBackend, textResult } from '../../fixtures/backend.ts';
import { answerOf } from '../../fixtures/raw-client.ts';
import { noRedis, startRedis, type TestRedis } from '../../fixtures/redis.ts';
import { openShared, reading, sharedConfig, startReplica } from '../../fixtures/replicas.ts';

const soon = { timeoutMs: 10_000, intervalMs: 5 };

describe('a session that replicas share', { skip: noRedis }, () => {
  let redis: TestRedis;
  let backend: FixtureBackend;
  let one: Running;
  let two: Running;
  let pending: PromiseWithResolvers<Exchange>;

  /** The tool `slow` answers when the test says so. */
  const options = {
    hasStream: true,
    tools: ['echo', 'slow'],
    capabilities: { tools: { listChanged: true }, logging: {}, resources: { subscribe: true } },
    on: (exchange: Exchange) => {
      if (exchange.recorded.params['name'] !== 'slow') return undefined;
      return ({ response }: { response: ServerResponse }) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
        pending.resolve(exchange);
      };
    },
  };
  const say = ({ response }: Exchange, message: object): void =>
    void response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
  const finish = ({ response, id }: Exchange): void =>
    void response.end(`data: {"jsonrpc":"2.0","id":${id},"result":${textResult('done')}}\n\n`);
  /** Backend sessions that tools were called over. */
  const usedSessions = (): Set<unknown> =>
    new Set(
      backend.requests.filter(({ method }) => method === 'tools/call').map(({ headers }) => headers['mcp-session-id']),
    );

  before(async () => {
    redis = await startRedis();
  });
  after(() => redis.stop());
  beforeEach(async () => {
    pending = Promise.withResolvers();
    backend = await startBackend(options);
    const files = sharedConfig(redis.address, { a: backend.url });
    [one, two] = await Promise.all([startReplica(files), startReplica(files)]);
  });
  afterEach(async () => {
    await Promise.all([one.stop(), two.stop()]);
    await backend.close();
  });

  test('is served by any of them, over one session with the backend', async () => {
    const session = await openShared(one.url);
    for (const [at, url] of [one.url, two.url, one.url, two.url].entries())
      assert.equal((await session.call(url, at, 'a_echo')).status, 200);
    assert.equal(usedSessions().size, 1);
    // That of each replica's catalogue, and the client's.
    assert.equal(count(backend, 'initialize'), 3);
  });

  test('opens one session with the backend although both call at once', async () => {
    const session = await openShared(one.url);
    const answers = await Promise.all([session.call(one.url, 1, 'a_echo'), session.call(two.url, 2, 'a_echo')]);
    for (const { status } of answers) assert.equal(status, 200);
    assert.equal(usedSessions().size, 1);
  });

  test('goes on when the backend has forgotten it', async () => {
    const session = await openShared(one.url);
    await session.call(one.url, 1, 'a_echo');
    await session.call(two.url, 2, 'a_echo');
    backend.sessions.clear();
    for (const [id, url] of [one.url, two.url].entries())
      assert.equal((await session.call(url, 10 + id, 'a_echo')).status, 200);
    assert.equal([...usedSessions()].filter((id) => backend.sessions.has(String(id))).length, 1);
  });

  test('ends everywhere, at the backend too, whichever replica gets the request', async () => {
    const session = await openShared(one.url);
    await session.call(one.url, 1, 'a_echo');
    const [used] = usedSessions();
    assert.equal(await session.end(two.url), 204);
    await until(
      '404',
      async () => ((await session.call(one.url, 2, 'a_echo')).status === 404 ? true : undefined),
      soon,
    );
    assert.equal((await session.call(two.url, 3, 'a_echo')).status, 404);
    await until('the end', async () => (backend.sessions.has(String(used)) ? undefined : true), soon);
  });

  test('survives the stop of a replica', async () => {
    const session = await openShared(one.url);
    await session.call(one.url, 1, 'a_echo');
    await one.stop();
    assert.equal((await session.call(two.url, 2, 'a_echo')).status, 200);
    assert.equal(usedSessions().size, 1);
  });

  test('takes the answer to a question wherever it is posted', async () => {
    const session = await openShared(one.url, { elicitation: {} });
    const stop = new AbortController();
    const response = await beginCall(one.url, session.id, stop.signal);
    const stream = reading(response.response, () => stop.abort());
    say(response.exchange, { id: 'e1', method: 'elicitation/create', params: { message: 'Who?' } });
    const { id } = await stream.heard('elicitation/create');
    const answer = await session.send(two.url, { id, result: { action: 'decline' } });
    assert.equal(answer.status, 202);
    const { body } = await backend.received(({ body: text }) => text.includes('"id":"e1"'));
    assert.deepEqual(JSON.parse(body), { jsonrpc: '2.0', id: 'e1', result: { action: 'decline' } });
    finish(response.exchange);
  });

  test('is cancelled wherever the client says so', async () => {
    const session = await openShared(one.url);
    const stop = new AbortController();
    await beginCall(one.url, session.id, stop.signal);
    await session.send(two.url, { method: 'notifications/cancelled', params: { requestId: 7 } });
    const told = await backend.received(({ method }) => method === 'notifications/cancelled');
    assert.equal(told.params['requestId'], 7);
  });

  test('sends no cancellation for an id that no request can have', async () => {
    const session = await openShared(one.url);
    for (const requestId of ['x'.repeat(255), { a: 1 }, null]) {
      const answer = await session.send(one.url, { method: 'notifications/cancelled', params: { requestId } });
      assert.equal(answer.status, 400, JSON.stringify(requestId));
      assert.equal((answer.json as { error: { code: number } }).error.code, -32600);
    }
    assert.equal((await session.send(one.url, { method: 'notifications/cancelled' })).status, 202);
  });

  test('has four streams at one replica and no more, however many are asked for at once', async () => {
    const session = await openShared(one.url);
    const ask = async (): Promise<(() => void) | undefined> => {
      const stop = new AbortController();
      const headers = { 'mcp-session-id': session.id, accept: 'text/event-stream' };
      const response = await fetch(one.url, { headers, signal: stop.signal });
      const isStream = response.headers.get('content-type') === 'text/event-stream';
      if (!isStream) assert.match((await answerOf(response)).text, /"reason":"busy"/);
      return isStream ? () => stop.abort() : undefined;
    };
    const askAll = async (): Promise<(() => void)[]> =>
      (await Promise.all(Array.from({ length: 24 }, ask))).flatMap((close) => close ?? []);
    await session.call(one.url, 1, 'a_echo');
    // Each waits for Redis a moment before it is opened.
    redis.freeze();
    const streams = await askAll();
    redis.thaw();
    assert.equal(streams.length, 4);
    assert.equal(await ask(), undefined);
    for (const close of streams) close();
    const again: (() => void)[] = [];
    await until('their places', async () => again.push(...(await askAll())) === 4 || undefined, soon);
    for (const close of again) close();
  });

  test('gets on its stream what the backend sends to another replica', async () => {
    const session = await openShared(one.url);
    const stream = await session.listen(two.url);
    await session.call(one.url, 1, 'a_echo');
    const [used] = usedSessions();
    await backend.received(({ http, headers }) => http === 'GET' && headers['mcp-session-id'] === used);
    backend.tell('{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a://1"}}', String(used));
    assert.deepEqual((await stream.heard('notifications/resources/updated'))['params'], { uri: 'a://1' });
    stream.close();
  });

  test('is notified of changed lists at whichever replica it listens', async () => {
    const session = await openShared(one.url);
    await session.send(two.url, { id: 1, method: 'tools/list' });
    const stream = await session.listen(two.url);
    backend.set({ ...options, tools: ['echo', 'slow', 'new'] });
    backend.tell('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}');
    await stream.heard('notifications/tools/list_changed');
    stream.close();
  });

  test('has one log level', async () => {
    const session = await openShared(one.url);
    await session.call(one.url, 1, 'a_echo');
    await session.send(two.url, { id: 2, method: 'logging/setLevel', params: { level: 'error' } });
    const told = await backend.received(({ method }) => method === 'logging/setLevel');
    assert.equal(told.params['level'], 'error');
  });

  test('may send large bodies to a replica that has not seen it', async () => {
    const session = await openShared(one.url);
    const params = { name: 'a_echo', arguments: { text: 'x'.repeat(200_000) } };
    assert.equal((await session.send(two.url, { id: 1, method: 'tools/call', params })).status, 200);
  });

  /** A call of `slow` on its way, with the head of its answer. */
  const beginCall = async (url: string, sessionId: string, signal: AbortSignal) => {
    const sent = fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-session-id': sessionId,
      },
      body: '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a_slow"}}',
      signal,
    });
    const exchange = await pending.promise;
    say(exchange, { method: 'notifications/message', params: { level: 'info', data: 'begun' } });
    return { response: await sent, exchange };
  };
});
