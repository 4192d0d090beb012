import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../../runtime/start.ts';
import { until } from '../../cluster/until.ts';
import { type Exchange, type FixtureBackend, startBackend, textResult } from '../../fixtures/backend.ts';
import { post, type RawAnswer } from '../../fixtures/raw-client.ts';
import { noRedis, startRedis, type TestRedis } from '../../fixtures/redis.ts';
import { sharedConfig, startReplica } from '../../fixtures/replicas.ts';

interface Round {
  readonly id?: number | string;
  readonly args?: object;
  readonly answers?: object;
  readonly state?: string;
  readonly progressToken?: string;
  readonly signal?: AbortSignal;
}

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
};

const HEADERS = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'a_ask' };

const bodyOf = ({ id = 1, args = { x: 1 }, answers, state, progressToken }: Round): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: {
      name: 'a_ask',
      arguments: args,
      ...(answers && { inputResponses: answers }),
      ...(state !== undefined && { requestState: state }),
      _meta: { ...META, ...(progressToken !== undefined && { progressToken }) },
    },
  });

const send = (url: string, round: Round): Promise<RawAnswer> => post(url, bodyOf(round), HEADERS);

const stateIn = ({ json }: RawAnswer): string => {
  const { result } = json as { result?: { resultType?: string; requestState?: string } };
  assert.equal(result?.resultType, 'input_required');
  return String(result.requestState);
};

const errorIn = ({ json }: RawAnswer): unknown => (json as { error?: { code?: unknown } }).error?.code;

const accepted = { action: 'accept', content: { name: 'Ada' } };

describe('a call that is held, among replicas', { skip: noRedis }, () => {
  let redis: TestRedis;
  let backend: FixtureBackend;
  let one: Running;
  let two: Running;
  /** The streams of the calls of `ask`, which say what the test wants. */
  let calls: Exchange[];

  const say = ({ response }: Exchange, message: object): void =>
    void response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
  const ask = (call: Exchange, id: string): void =>
    say(call, { id, method: 'elicitation/create', params: { message: 'Who?', requestedSchema: {} } });
  const finish = ({ response, id }: Exchange, text: string): void =>
    void response.end(`data: {"jsonrpc":"2.0","id":${id},"result":${textResult(text)}}\n\n`);
  const answered = async (id: string): Promise<unknown> => {
    const { body } = await backend.received(
      ({ method, body: sent }) => method === undefined && sent.includes(`"id":"${id}"`),
    );
    return JSON.parse(body).result;
  };
  const call = (at = 0): Promise<Exchange> =>
    until('the call', async () => calls[at], { timeoutMs: 5_000, intervalMs: 5 });

  /** A call through the first replica whose backend has asked something. */
  const held = async (round: Round = {}): Promise<{ readonly state: string; readonly exchange: Exchange }> => {
    const first = send(one.url, round);
    const exchange = await call(calls.length);
    ask(exchange, 'q');
    return { state: stateIn(await first), exchange };
  };

  before(async () => {
    redis = await startRedis();
  });
  after(() => redis.stop());
  beforeEach(async () => {
    calls = [];
    backend = await startBackend({
      tools: ['ask'],
      on: (exchange) => {
        if (exchange.recorded.method !== 'tools/call') return undefined;
        return ({ response }: { response: ServerResponse }) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
          calls.push(exchange);
        };
      },
    });
    const files = sharedConfig(redis.address, { a: backend.url });
    [one, two] = await Promise.all([startReplica(files), startReplica(files)]);
  });
  afterEach(async () => {
    await Promise.all([one.stop(), two.stop()]);
    await backend.close();
  });

  test('goes on at whichever its client comes back to', async () => {
    const { state, exchange } = await held();
    const second = send(two.url, { id: 'second', state, answers: { q: accepted } });
    assert.deepEqual(await answered('q'), accepted);
    finish(exchange, 'hello Ada');
    const { json, status } = await second;
    assert.equal(status, 200);
    const { id, result } = json as { id: unknown; result: { resultType: unknown; content: unknown } };
    assert.equal(id, 'second');
    assert.equal(result.resultType, 'complete');
    assert.deepEqual(result.content, [{ type: 'text', text: 'hello Ada' }]);
    assert.equal(calls.length, 1);
  });

  test('goes on there without telling of progress where its token is too long to go along', async () => {
    const { state, exchange } = await held({ progressToken: 'first' });
    const second = send(two.url, { state, answers: { q: accepted }, progressToken: 't'.repeat(2_000) });
    await answered('q');
    say(exchange, { method: 'notifications/progress', params: { progressToken: 'first', progress: 1 } });
    finish(exchange, 'done');
    assert.match((await second).text, /^\{"jsonrpc":"2.0","id":1,"result":.*done/);
  });

  test('tells of its progress there, and asks again there', async () => {
    const { state, exchange } = await held({ progressToken: 'first' });
    const second = send(two.url, { state, answers: { q: accepted }, progressToken: 'second' });
    await answered('q');
    say(exchange, { method: 'notifications/progress', params: { progressToken: 'first', progress: 1 } });
    ask(exchange, 'q2');
    const next = await second;
    const [progress] = next.messages as { params: object }[];
    assert.deepEqual(progress?.params, { progressToken: 'second', progress: 1 });
    const third = send(one.url, { state: stateIn(next), answers: { q2: accepted } });
    await answered('q2');
    finish(exchange, 'done');
    assert.match((await third).text, /done/);
  });

  test('is cancelled when its client goes away there', async () => {
    const { state } = await held();
    const gone = new AbortController();
    const init = { method: 'POST', body: bodyOf({ state, answers: { q: accepted } }), signal: gone.signal };
    const headers = { ...HEADERS, 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const second = fetch(two.url, { ...init, headers }).catch(() => {});
    await answered('q');
    gone.abort();
    await second;
    await backend.received(({ method }) => method === 'notifications/cancelled');
  });

  test('is given there as it failed', async () => {
    const { state, exchange } = await held();
    const second = send(two.url, { state, answers: { q: accepted } });
    await answered('q');
    exchange.response.destroy();
    assert.match((await second).text, /ended its answer before it was complete.*"isError":true/);
  });

  test('is refused to another request there, and goes on for its own', async () => {
    const { state, exchange } = await held();
    const others = [{ args: { x: 2 } }, { state: `${state}0` }, { state: `x${state}` }];
    for (const other of others) assert.equal(errorIn(await send(two.url, { state, ...other })), -32_602);
    const second = send(two.url, { state, answers: { q: accepted } });
    await answered('q');
    assert.equal(errorIn(await send(one.url, { state, answers: { q: accepted } })), 429);
    finish(exchange, 'still there');
    assert.match((await second).text, /still there/);
  });

  test('is unknown once the replica that held it has stopped', async () => {
    const { state } = await held();
    await one.stop();
    assert.equal(errorIn(await send(two.url, { state, answers: { q: accepted } })), -32_602);
  });

  test('whose replica has vanished without a word is given up', async () => {
    const { state } = await held();
    const [key = ''] = (await redis.command('keys', '*held:*')).split('\n');
    await one.stop();
    // As the store has it of one that was killed.
    await redis.command('set', key, 'here');
    const { text } = await send(two.url, { state, answers: { q: accepted } });
    assert.match(text, /the replica that holds the call does not answer.*"isError":true/);
  });
});
