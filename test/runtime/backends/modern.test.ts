import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../../runtime/start.ts';
import { resultText } from '../../fixtures/answers.ts';
import {
  answerError,
  answerJson,
  answerSse,
  answerStatus,
  type Behaviour,
  type Exchange,
  type FixtureBackend,
  hang,
  type Recorded,
  startBackend,
} from '../../fixtures/backend.ts';
import {
  acceptListening,
  acknowledge,
  listen,
  LISTEN_HEADERS,
  listenRequest,
  openEventStream,
  tellOn,
} from '../../fixtures/listening.ts';
import { openSession, type RawSession } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';

const RESERVED = 'io.modelcontextprotocol/';
const DISCOVERED = {
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: { listChanged: true }, resources: {} },
};
const TOOL = {
  name: 'echo',
  inputSchema: {
    type: 'object',
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      in: { properties: { n: { 'x-mcp-header': 'N' } } },
    },
  },
};
const DONE = '{"resultType":"complete","content":[{"type":"text","text":"done"}],"x":1.0}';

let backend: FixtureBackend;
let running: Running;
let session: RawSession;
/** What tool calls are answered with, one after the other; the last one from then on. */
let answers: Behaviour[];
let discover: Behaviour;
let listening: Behaviour;

const on = ({ recorded: { method } }: Exchange): Behaviour => {
  if (method === 'server/discover') return discover;
  if (method === 'tools/list') return answerJson(JSON.stringify({ resultType: 'complete', tools: [TOOL] }));
  if (method === 'resources/list')
    return answerJson('{"resultType":"complete","resources":[{"uri":"a://1","name":"1"}]}');
  if (method === 'tools/call') return (answers.length > 1 ? answers.shift() : answers[0]) ?? answerJson(DONE);
  if (method === 'subscriptions/listen') return listening;
  return method === 'resources/templates/list'
    ? answerJson('{"resourceTemplates":[]}')
    : answerError('{"code":-32601,"message":"no"}');
};

beforeEach(async () => {
  answers = [answerJson(DONE)];
  discover = answerJson(JSON.stringify(DISCOVERED));
  listening = acceptListening;
  backend = await startBackend({ on });
  running = await startRuntime(configFile({ a: backend.url }));
  session = await openSession(running.url);
});
afterEach(async () => {
  await running.stop();
  await backend.close();
});

const callsAt = (at: FixtureBackend) => at.requests.filter(({ method }) => method === 'tools/call');
const headersOf = (call: Recorded | undefined): Readonly<Record<string, unknown>> => ({ ...call?.headers });

describe('a backend of 2026-07-28', () => {
  test('is asked for its lists as by a client that can be asked everything, since some show tools only to such', async () => {
    const { body } = await backend.received(({ method }) => method === 'tools/list');
    const { params } = JSON.parse(body) as { params: { _meta: Record<string, object> } };
    const declared = params._meta[`${RESERVED}clientCapabilities`] ?? {};
    assert.deepEqual(Object.keys(declared), ['elicitation', 'sampling', 'roots']);
  });

  test('is found out by one question, and never asked to initialize', async () => {
    assert.deepEqual(await session.toolNames(), ['a_echo']);
    assert.deepEqual(
      backend.requests.slice(0, 2).map(({ method }) => method),
      ['server/discover', 'subscriptions/listen'],
    );
    assert.equal(backend.requests.filter(({ method }) => method === 'initialize').length, 0);
  });

  test('gets one request for each call, which says by itself who asks', async () => {
    const { text } = await session.call('a_echo', { region: 'eu' });
    assert.match(text, /"result":\{"content":\[\{"type":"text","text":"done"\}\],"x":1\.0\}\}$/);
    const [call, ...more] = callsAt(backend);
    assert.deepEqual(more, []);
    const { _meta: meta, ...params } = call?.params ?? {};
    assert.deepEqual(params, { name: 'echo', arguments: { region: 'eu' } });
    assert.deepEqual(Object.keys(meta as object).sort(), [
      `${RESERVED}clientCapabilities`,
      `${RESERVED}clientInfo`,
      `${RESERVED}protocolVersion`,
    ]);
    const headers = headersOf(call);
    assert.deepEqual(
      ['mcp-protocol-version', 'mcp-method', 'mcp-name', 'mcp-param-region', 'mcp-session-id'].map(
        (name) => headers[name],
      ),
      ['2026-07-28', 'tools/call', 'echo', 'eu', undefined],
    );
  });

  test('gets arguments that cannot stand in a header as they are in Base64, wherever they lie', async () => {
    await session.call('a_echo', { region: 'süd', in: { n: 7 } });
    const headers = headersOf(callsAt(backend)[0]);
    assert.equal(headers['mcp-param-region'], `=?base64?${Buffer.from('süd').toString('base64')}?=`);
    assert.equal(headers['mcp-param-n'], '7');
  });

  test('that asks a client of an earlier revision what it cannot answer, is not asked again', async () => {
    answers = [
      answerJson(
        '{"resultType":"input_required","inputRequests":{"who":{"method":"elicitation/create","params":{"message":"Who?"}}}}',
      ),
    ];
    const { json } = await session.call('a_echo');
    assert.equal((json as { error: { data: { reason: string } } }).error.data.reason, 'client_cannot_answer');
    assert.equal(callsAt(backend).length, 1);
  });

  test('gets its state back, under a new id, when it asks for nothing else', async () => {
    answers = [
      answerJson('{"resultType":"input_required","requestState":"s\\u00e9"}'),
      answerSse(DONE, [
        '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}',
      ]),
    ];
    const answer = await session.call('a_echo', { x: 1 });
    assert.equal(resultText(answer), 'done');
    assert.equal(answer.messages.length, 2);
    const [first, second] = callsAt(backend);
    assert.deepEqual(second?.params, { ...first?.params, inputResponses: {}, requestState: 'sé' });
    assert.notEqual(JSON.parse(first?.body ?? '{}').id, JSON.parse(second?.body ?? '{}').id);
  });

  test('that never comes to an end is given up', async () => {
    answers = [answerJson('{"resultType":"input_required","requestState":"again"}')];
    const { json } = await session.call('a_echo');
    assert.equal((json as { result: { isError: boolean } }).result.isError, true);
    assert.equal(callsAt(backend).length, 17);
  });

  test('that gives a result of an unknown kind fails the call of an earlier client', async () => {
    answers = [answerJson('{"resultType":"task","taskId":"1"}')];
    const { json } = await session.call('a_echo');
    assert.equal((json as { result: { isError: boolean } }).result.isError, true);
  });

  test('is listened to for the subscriptions of earlier clients', async () => {
    await session.toolNames();
    await session.request('resources/subscribe', { uri: 'a://1' });
    const heard = await backend.received(
      ({ method, params }) =>
        method === 'subscriptions/listen' && JSON.stringify(params).includes('resourceSubscriptions'),
    );
    assert.deepEqual(heard.params['notifications'], { resourceSubscriptions: ['a://1'] });
  });
});

describe('a resource of a backend of 2026-07-28', () => {
  const URI = 'a://1';
  const isWatched = (params: object): boolean => JSON.stringify(params).includes(URI);
  const firstOn = async (): Promise<unknown> => {
    const stream = await listen(running.url, { resourceSubscriptions: [URI] });
    const first = await stream.next();
    await stream.close();
    return first?.params?.['notifications'];
  };

  beforeEach(() => session.toolNames());

  test('is acknowledged once the backend has acknowledged it, so that no update is missed from then on', async () => {
    let isAcknowledged = false;
    listening = (exchange) => {
      openEventStream(exchange);
      setTimeout(() => {
        isAcknowledged = true;
        acknowledge(exchange.response, exchange.recorded.params['notifications']);
        tellOn(exchange.response, 'notifications/resources/updated', { uri: URI });
      }, 100);
    };
    const stream = await listen(running.url, { resourceSubscriptions: [URI] });
    assert.deepEqual((await stream.next())?.params?.['notifications'], { resourceSubscriptions: [URI] });
    assert.equal(isAcknowledged, true);
    assert.equal((await stream.next())?.params?.['uri'], URI);
    await stream.close();
  });

  const refusals: readonly (readonly [string, Behaviour])[] = [
    ['refuses', answerError('{"code":-32601,"message":"no"}')],
    ['answers 404', answerStatus(404)],
    [
      'tells of lists only',
      (exchange) => {
        openEventStream(exchange);
        acknowledge(exchange.response, { toolsListChanged: true });
      },
    ],
  ];
  for (const [what, behaviour] of refusals)
    test(`is not acknowledged where the backend ${what}, and not asked for again`, async () => {
      listening = behaviour;
      assert.deepEqual(await firstOn(), { resourceSubscriptions: [] });
      const { json } = await session.request('resources/subscribe', { uri: URI });
      assert.match(JSON.stringify(json), /does not tell of the resource/);
      // Longer than the shortest pause before a stream is asked for again.
      await delay(1_200);
      const asked = backend.requests.filter(
        ({ method, params }) => method === 'subscriptions/listen' && isWatched(params),
      );
      assert.equal(asked.length, 2);
    });

  const later: readonly (readonly [string, Behaviour])[] = [
    ['cannot now', answerStatus(503)],
    ['says nothing for a while', hang],
  ];
  for (const [what, behaviour] of later)
    test(`is acknowledged where the backend ${what}, and notified once it sends an update`, async () => {
      listening = behaviour;
      running.reload(configFile({ a: backend.url }, { operational: { timeouts: { default: '1s' } } }));
      const stream = await listen(running.url, { resourceSubscriptions: [URI] });
      assert.deepEqual((await stream.next())?.params?.['notifications'], { resourceSubscriptions: [URI] });
      listening = (exchange) => {
        acceptListening(exchange);
        tellOn(exchange.response, 'notifications/resources/updated', { uri: URI });
      };
      backend.drop();
      assert.equal((await stream.next())?.params?.['uri'], URI);
      await stream.close();
    });

  test('is no longer asked for once no client listens, even if the backend has not said anything yet', async () => {
    const closed = Promise.withResolvers<void>();
    listening = (exchange) => {
      openEventStream(exchange);
      exchange.response.on('close', closed.resolve);
    };
    const aborted = new AbortController();
    const asked = fetch(running.url, {
      method: 'POST',
      headers: LISTEN_HEADERS,
      body: listenRequest({ resourceSubscriptions: [URI] }),
      signal: aborted.signal,
    });
    await backend.received(({ method, params }) => method === 'subscriptions/listen' && isWatched(params));
    aborted.abort();
    await assert.rejects(asked);
    await closed.promise;
  });

  test('that an earlier client takes back while the backend has not answered stays taken back', async () => {
    const opened = Promise.withResolvers<() => void>();
    const closed = Promise.withResolvers<void>();
    listening = (exchange) => {
      openEventStream(exchange);
      if (!isWatched(exchange.recorded.params)) return;
      exchange.response.on('close', closed.resolve);
      opened.resolve(() => acknowledge(exchange.response, exchange.recorded.params['notifications']));
    };
    const subscribing = session.request('resources/subscribe', { uri: URI });
    const again = session.request('resources/subscribe', { uri: URI });
    const acknowledgeNow = await opened.promise;
    await session.request('resources/unsubscribe', { uri: URI });
    await closed.promise;
    acknowledgeNow();
    assert.deepEqual((await subscribing).status, 200);
    assert.deepEqual((await again).status, 200);
    const asked = backend.requests.filter(
      ({ method, params }) => method === 'subscriptions/listen' && isWatched(params),
    );
    assert.equal(asked.length, 1);
  });
});

describe('whether a backend is of 2026-07-28', () => {
  const rows: readonly (readonly [string, Behaviour, boolean])[] = [
    ['it says so', answerJson(JSON.stringify(DISCOVERED)), true],
    [
      'it refuses in the words of that revision',
      answerStatus(400, '{"jsonrpc":"2.0","id":"vmcp-discover","error":{"code":-32022,"message":"x"}}'),
      true,
    ],
    ['it serves others only', answerJson('{"supportedVersions":["2027-01-01"]}'), false],
    ['it knows no such method', answerError('{"code":-32601,"message":"x"}'), false],
    ['it wants a session', answerStatus(400, 'Bad Request'), false],
    ['it cannot say now', answerStatus(503), false],
  ];
  for (const [what, behaviour, isModern] of rows)
    test(`${what}: ${isModern ? 'yes' : 'no'}`, async () => {
      discover = behaviour;
      const other = await startBackend({ on });
      running.reload(configFile({ b: other.url }));
      const asked = await other.received(({ method }) => method === 'initialize' || method === 'tools/list');
      assert.equal(asked.method, isModern ? 'tools/list' : 'initialize');
      await other.close();
    });
});
