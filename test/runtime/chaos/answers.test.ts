import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { answerJson, answerStatus, type Behaviour, hang, textResult } from '../../fixtures/backend.ts';
import {
  breaksOff,
  endless,
  head,
  jsonHead,
  liesAboutLength,
  openEventsHead,
  openJsonHead,
  sends,
} from '../../fixtures/chaos-backend.ts';
import { openScene, outcomeOf } from './scene.ts';

const failed = (what: string, reason = 'backend_unavailable') => ({ text: `backend "bad" ${what}`, reason });

const NOT_MCP = failed('gave an answer that is not MCP');
const CUT = failed('cannot be reached');
const INCOMPLETE = failed('ended its answer before it was complete');
const FAILED = failed('failed');
const NOT_JSON_RPC = failed('sent what is not JSON-RPC');
const TOO_MUCH = failed('sent more than an answer may hold');
const LATE = failed('did not answer in time', 'backend_timeout');

interface Case {
  readonly what: string;
  readonly behaviour: Behaviour;
  readonly seen: { readonly text?: string; readonly reason?: string };
}

const json = (body: string): Behaviour => answerStatus(200, body);
const events = (body: string): Behaviour => breaksOff(openEventsHead, body);
const half = '{"jsonrpc":"2.0","id":2,"result":{"content":[';

describe('an answer that is none reaches the client as a failed call, executed once', () => {
  const cases: readonly Case[] = [
    { what: 'not JSON', behaviour: json('hello'), seen: NOT_MCP },
    { what: 'HTML', behaviour: answerStatus(200, '<html>', { 'content-type': 'text/html' }), seen: NOT_MCP },
    { what: 'binary', behaviour: breaksOff(jsonHead(4), Buffer.from([0xff, 0x00, 0xfe, 0x80])), seen: NOT_MCP },
    { what: 'nothing', behaviour: answerStatus(202), seen: NOT_MCP },
    { what: 'JSON that is no JSON-RPC', behaviour: json('{"jsonrpc":"1.0","result":{}}'), seen: NOT_MCP },
    { what: 'a batch', behaviour: json('[{"jsonrpc":"2.0","id":2,"result":{}}]'), seen: NOT_MCP },
    { what: 'the id of another request', behaviour: json('{"jsonrpc":"2.0","id":99,"result":{}}'), seen: NOT_MCP },
    { what: 'the id as text', behaviour: json('{"jsonrpc":"2.0","id":"2","result":{}}'), seen: NOT_MCP },
    { what: 'a result that is no object', behaviour: answerJson('[]'), seen: NOT_MCP },
    { what: 'no HTTP', behaviour: breaksOff('SSH-2.0-OpenSSH_9.9\r\n'), seen: CUT },
    { what: 'an event that is no JSON', behaviour: events('data: hello\n\n'), seen: NOT_JSON_RPC },
    { what: 'a redirect to itself', behaviour: answerStatus(307, '', { location: '/mcp' }), seen: FAILED },
    { what: 'no connection before the head', behaviour: breaksOff(), seen: CUT },
    { what: 'half a head', behaviour: breaksOff('HTTP/1.1 200 OK\r\ncontent-ty'), seen: CUT },
    { what: 'a head only', behaviour: breaksOff(jsonHead(100)), seen: INCOMPLETE },
    { what: 'half a body', behaviour: breaksOff(jsonHead(100), half), seen: INCOMPLETE },
    { what: 'half a body of no length', behaviour: breaksOff(openJsonHead, half), seen: NOT_MCP },
    {
      what: 'half an HTTP chunk',
      behaviour: breaksOff(head('transfer-encoding: chunked'), '64\r\n{'),
      seen: INCOMPLETE,
    },
    { what: 'half an event', behaviour: events(`data: ${half}`), seen: INCOMPLETE },
    {
      what: 'a stream without an answer',
      behaviour: events('data: {"jsonrpc":"2.0","method":"x"}\n\n'),
      seen: INCOMPLETE,
    },
    { what: 'less than its length', behaviour: liesAboutLength(10), seen: INCOMPLETE },
    { what: 'more than its length', behaviour: liesAboutLength(-10), seen: NOT_MCP },
    { what: 'a length that is no number', behaviour: breaksOff(head('content-length: many'), half), seen: CUT },
    { what: 'a length of terabytes', behaviour: breaksOff(jsonHead(1e13), half), seen: INCOMPLETE },
    { what: 'a body without end', behaviour: endless(openJsonHead, 'x'.repeat(65_536)), seen: TOO_MUCH },
    { what: 'an event without end', behaviour: endless(`${openEventsHead}data: `, 'x'.repeat(65_536)), seen: TOO_MUCH },
    { what: 'a head without end', behaviour: endless('HTTP/1.1 200 OK\r\nx: ', 'x'.repeat(65_536)), seen: CUT },
    {
      what: 'a flood of notifications',
      behaviour: endless(openEventsHead, 'data: {"jsonrpc":"2.0","method":"notifications/x"}\n\n'.repeat(1_000)),
      seen: failed('said too much before its answer'),
    },
  ];
  for (const { what, behaviour, seen } of cases) {
    test(what, { timeout: 20_000 }, async (t) => {
      const scene = await openScene(t);
      scene.onCall(behaviour);
      assert.deepEqual(outcomeOf(await scene.callBad()), seen);
      assert.equal(scene.executions(), 1);
      await scene.ends();
    });
  }
});

describe('an answer that does not come fails when its time is over, executed once', () => {
  const cases: readonly Omit<Case, 'seen'>[] = [
    { what: 'nothing at all', behaviour: hang },
    { what: 'half a head', behaviour: sends('HTTP/1.1 200 OK\r\ncontent-ty') },
    { what: 'a head only', behaviour: sends(jsonHead(100)) },
    { what: 'half a body', behaviour: sends(jsonHead(100), half) },
    { what: 'an event stream that says nothing', behaviour: sends(openEventsHead) },
    { what: 'an event stream of comments', behaviour: sends(openEventsHead, ': still here\n\n', ': and here\n\n') },
    { what: 'half an event', behaviour: sends(openEventsHead, `data: ${half}`) },
  ];
  for (const { what, behaviour } of cases) {
    test(what, { timeout: 20_000 }, async (t) => {
      const scene = await openScene(t, { timeouts: { default: '5s' } });
      scene.onCall(behaviour);
      const answer = scene.callBad();
      await scene.bad.received(({ body }) => body.includes('"id":3'));
      scene.clock.advance(5_000);
      assert.deepEqual(outcomeOf(await answer), LATE);
      assert.equal(scene.executions(), 1);
      await scene.ends();
    });
  }

  test('a body that drips in, byte by byte', { timeout: 20_000 }, async (t) => {
    const scene = await openScene(t, { timeouts: { default: '5s' } });
    const { promise: socket, resolve } = Promise.withResolvers<NodeJS.WritableStream>();
    scene.onCall(({ response }) => {
      response.socket?.write(jsonHead(100));
      if (response.socket) resolve(response.socket);
    });
    const answer = scene.callBad();
    const drip = await socket;
    for (let second = 0; second < 6; second += 1) {
      drip.write('x');
      await scene.session.request('ping');
      scene.clock.advance(1_000);
    }
    assert.deepEqual(outcomeOf(await answer), LATE);
    assert.equal(scene.executions(), 1);
    await scene.ends();
  });
});

test('answers without end, one after the other, leave room for a large one', { timeout: 60_000 }, async (t) => {
  const scene = await openScene(t);
  scene.onCall(endless(openJsonHead, 'x'.repeat(65_536)));
  // Together more than all answers may hold at once.
  for (let call = 0; call < 5; call += 1) assert.deepEqual(outcomeOf(await scene.callBad()), TOO_MUCH);
  const large = 'y'.repeat(20 * 1024 * 1024);
  scene.onCall(answerJson(textResult(large)));
  assert.equal(outcomeOf(await scene.callBad()).text?.length, large.length);
  await scene.ends();
});

describe('a burst of failures', () => {
  const bursts = [
    [503, FAILED],
    [429, FAILED],
    [500, FAILED],
    [401, failed('answered 401: it wants a login, or does not accept this Host')],
  ] as const;
  for (const [status, seen] of bursts) {
    test(`of ${status}: every call fails, none is repeated, and no session is opened`, async (t) => {
      const scene = await openScene(t);
      scene.onCall(answerStatus(status, '{}', { 'retry-after': '1' }));
      const answers = await Promise.all(Array.from({ length: 20 }, scene.callBad));
      for (const answer of answers) assert.deepEqual(outcomeOf(answer), seen);
      assert.deepEqual([scene.executions(), scene.handshakes()], [20, 0]);
      await scene.ends();
    });
  }

  test('of 404: each call is sent twice at most, and sessions are not opened without end', async (t) => {
    const scene = await openScene(t);
    scene.onCall(answerStatus(404));
    for (let call = 0; call < 5; call += 1) assert.deepEqual(outcomeOf(await scene.callBad()), FAILED);
    assert.equal(scene.executions(), 10);
    assert.ok(scene.handshakes() <= 5);
    await scene.ends();
  });
});

test('a backend that names another session with each answer keeps the one it opened', async (t) => {
  const scene = await openScene(t);
  let answers = 0;
  scene.onCall(({ id, response }) => {
    answers += 1;
    response
      .writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': `another-${answers}` })
      .end(`{"jsonrpc":"2.0","id":${id},"result":${textResult('done')}}`);
  });
  for (let call = 0; call < 3; call += 1) assert.deepEqual(outcomeOf(await scene.callBad()), { text: 'done' });
  assert.deepEqual([scene.executions(), scene.handshakes()], [3, 0]);
  const sent = scene.bad.requests.filter(({ method }) => method === 'tools/call');
  assert.equal(new Set(sent.map(({ headers }) => headers['mcp-session-id'])).size, 1);
  await scene.ends();
});
