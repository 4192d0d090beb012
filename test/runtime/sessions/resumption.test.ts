import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../../runtime/start.ts';
import { until } from '../../cluster/until.ts';
import { type Exchange, type FixtureBackend, startBackend, textResult } from '../../fixtures/backend.ts';
import { INITIALIZE, post } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';

let backend: FixtureBackend;
let running: Running;
let called: PromiseWithResolvers<Exchange>;

beforeEach(async () => {
  called = Promise.withResolvers();
  backend = await startBackend({
    hasStream: true,
    capabilities: { logging: {} },
    on: (exchange: Exchange) => {
      if (exchange.recorded.method !== 'tools/call') return undefined;
      return ({ response }: { response: ServerResponse }) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
        called.resolve(exchange);
      };
    },
  });
});
afterEach(async () => {
  await running.stop();
  await backend.close();
});

const begin = async (extensions: object, protocolVersion = '2025-11-25'): Promise<Record<string, string>> => {
  running = await startRuntime(configFile({ a: backend.url }, { extensions }));
  const { headers } = await post(running.url, { ...INITIALIZE, params: { ...INITIALIZE.params, protocolVersion } });
  return { 'mcp-session-id': headers.get('mcp-session-id') ?? '' };
};

const say = ({ response }: Exchange, data: string): void =>
  void response.write(
    `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"${data}"}}\n\n`,
  );

/** The raw text of a stream, and how to break its connection. */
interface Stream {
  text: string;
  isEnded: boolean;
  readonly abort: () => void;
}

const open = async (init: RequestInit): Promise<Stream> => {
  const stop = new AbortController();
  const response = await fetch(running.url, { ...init, signal: stop.signal });
  const stream: Stream = { text: '', isEnded: false, abort: () => stop.abort() };
  const read = async (): Promise<void> => {
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) stream.text += chunk;
    stream.isEnded = true;
  };
  void read().catch(() => {});
  return stream;
};

const sees = (stream: Stream, what: string): Promise<true> =>
  until(what, async () => (stream.text.includes(what) ? true : undefined), SOON);

const SOON = { timeoutMs: 5_000, intervalMs: 5 };

const idsIn = ({ text }: Stream): string[] => [...text.matchAll(/^id: (.*)$/gm)].map(([, id = '']) => id);

const call = (headers: Record<string, string>): Promise<Stream> =>
  open({
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a_echo"}}',
  });

const listen = (headers: Record<string, string>, last?: string): Promise<Stream> =>
  open({ headers: { ...headers, accept: 'text/event-stream', ...(last !== undefined && { 'last-event-id': last }) } });

describe('with extensions.streamResumption', () => {
  test('the stream of a call goes on where it was lost, answer included, and then ends', async () => {
    const session = await begin({ streamResumption: {} });
    const started = call(session);
    const exchange = await called.promise;
    say(exchange, 'one');
    const first = await started;
    await sees(first, '"one"');
    assert.match(first.text, /^id: \S+-1\nretry: 1000\ndata: \n\nid: \S+-2\ndata: /);
    first.abort();
    say(exchange, 'two');
    exchange.response.end(`data: {"jsonrpc":"2.0","id":1,"result":${textResult('done')}}\n\n`);
    const again = await listen(session, idsIn(first).at(-1));
    await sees(again, '"done"');
    assert.match(again.text, /"two"/);
    assert.doesNotMatch(again.text, /"one"/);
    await until('the end', async () => (again.isEnded ? true : undefined), SOON);
  });

  test('the connection that a client comes back from ends', async () => {
    const session = await begin({ streamResumption: {} });
    const started = call(session);
    const exchange = await called.promise;
    say(exchange, 'one');
    const first = await started;
    const connections = [first];
    await sees(first, '"one"');
    for (let back = 0; back < 3; back += 1) {
      const again = await listen(session, idsIn(first)[0]);
      await sees(again, '"one"');
      connections.push(again);
    }
    exchange.response.end(`data: {"jsonrpc":"2.0","id":1,"result":${textResult('done')}}\n\n`);
    await until('the ends', async () => (connections.every(({ isEnded }) => isEnded) ? true : undefined), SOON);
    assert.deepEqual(
      connections.map(({ text }) => text.includes('"done"')),
      [false, false, false, true],
    );
  });

  test('a stream of the session misses nothing while its client is away', async () => {
    const session = await begin({ streamResumption: {} });
    const first = await listen(session);
    await sees(first, 'retry');
    running.reload(configFile({ b: backend.url }, { extensions: { streamResumption: {} } }));
    await sees(first, 'tools/list_changed');
    const last = idsIn(first).at(-1);
    first.abort();
    running.reload(configFile({ c: backend.url }, { extensions: { streamResumption: {} } }));
    const again = await listen(session, last);
    await sees(again, 'tools/list_changed');
    again.abort();
  });

  test('an id that is not known begins a new stream', async () => {
    const session = await begin({ streamResumption: {} });
    const stream = await listen(session, 'nobody-7');
    await sees(stream, 'retry');
    stream.abort();
  });

  test('clients before 2025-11-25 get ids, but no event without data', async () => {
    const session = await begin({ streamResumption: {} }, '2025-06-18');
    const started = call(session);
    const exchange = await called.promise;
    say(exchange, 'one');
    const first = await started;
    await sees(first, '"one"');
    assert.match(first.text, /^id: \S+-2\ndata: \{/);
    exchange.response.end(`data: {"jsonrpc":"2.0","id":1,"result":${textResult('done')}}\n\n`);
    await sees(first, '"done"');
  });

  test('no more is kept than the bound says; the oldest goes first', async () => {
    const session = await begin({ streamResumption: { maxBytes: 4_096 } });
    const started = call(session);
    const exchange = await called.promise;
    say(exchange, 'one');
    const first = await started;
    await sees(first, '"one"');
    say(exchange, 'x'.repeat(3_000));
    say(exchange, 'y'.repeat(3_000));
    await sees(first, 'yyy"');
    first.abort();
    exchange.response.end(`data: {"jsonrpc":"2.0","id":1,"result":${textResult('done')}}\n\n`);
    const again = await listen(session, idsIn(first)[1]);
    await sees(again, '"done"');
    assert.doesNotMatch(again.text, /xxx/);
    assert.match(again.text, /yyy/);
  });
});

test('without it events have no ids, and Last-Event-ID says nothing', async () => {
  const session = await begin({});
  const started = call(session);
  const exchange = await called.promise;
  say(exchange, 'one');
  const first = await started;
  await sees(first, '"one"');
  assert.doesNotMatch(first.text, /^id: /m);
  exchange.response.end(`data: {"jsonrpc":"2.0","id":1,"result":${textResult('done')}}\n\n`);
  await sees(first, '"done"');
});
