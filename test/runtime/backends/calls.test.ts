import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../../runtime/start.ts';
import { reasonOf, resultText } from '../../fixtures/answers.ts';
import {
  answerError,
  answerJson,
  answerSse,
  answerStatus,
  count,
  type FixtureBackend,
  hang,
  startBackend,
  textResult,
} from '../../fixtures/backend.ts';
import type { FrozenClock } from '../../fixtures/frozen-clock.ts';
import { onCall, startGateway, stopGateway } from '../../fixtures/gateway.ts';
import { openSession, type RawSession } from '../../fixtures/raw-client.ts';
import { covers } from '../../requirements.ts';

let backend: FixtureBackend;
let running: Running;
let session: RawSession;
let clock: FrozenClock;

beforeEach(async () => {
  ({ backend, running, session, clock } = await startGateway());
});
afterEach(() => stopGateway({ backend, running, clock }));

describe('an event stream', () => {
  test('is read up to the answer; progress on it reaches the client before the answer', async () => {
    const progress = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}';
    onCall(backend, () => answerSse(textResult('done'), [progress, progress]));
    const answer = await session.call('a_echo');
    assert.equal(resultText(answer), 'done');
    assert.deepEqual(answer.messages.slice(0, 2), [JSON.parse(progress), JSON.parse(progress)]);
  });

  test('may be cut into pieces anywhere', async () => {
    onCall(backend, () => ({ id, response }) => {
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
      const text = `: hello\r\nid: 1\r\ndata:\r\n\r\nevent: message\r\ndata: {"jsonrpc":"2.0",\r\ndata: "id":${id},"result":${textResult('ü')}}\r\n\r\n`;
      const bytes = Buffer.from(text);
      const next = (at: number): void => {
        if (at >= bytes.length) return void response.end();
        response.write(bytes.subarray(at, at + 3), () => setImmediate(next, at + 3));
      };
      next(0);
    });
    assert.equal(resultText(await session.call('a_echo')), 'ü');
  });

  test('that stays open after the answer is cut', async () => {
    const closed = Promise.withResolvers<void>();
    onCall(backend, () => ({ id, response }) => {
      response.on('close', closed.resolve);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: {"jsonrpc":"2.0","id":${id},"result":${textResult('done')}}\n\n`);
    });
    assert.equal(resultText(await session.call('a_echo')), 'done');
    clock.advance(1_000);
    await closed.promise;
  });

  test('a request of the backend on it is answered with an error, a ping with a result', async () => {
    onCall(backend, () =>
      answerSse(textResult('done'), [
        '{"jsonrpc":"2.0","id":"s1","method":"sampling/createMessage","params":{}}',
        '{"jsonrpc":"2.0","id":7,"method":"ping"}',
      ]),
    );
    await session.call('a_echo');
    const refusal = await backend.received(({ body }) => body.includes('"s1"'));
    assert.deepEqual(JSON.parse(refusal.body), {
      jsonrpc: '2.0',
      id: 's1',
      error: { code: -32601, message: 'not supported' },
    });
    const pong = await backend.received(({ body }) => body.includes('"id":7'));
    assert.deepEqual(JSON.parse(pong.body), { jsonrpc: '2.0', id: 7, result: {} });
  });
});

describe('a backend that fails gives a tool result with isError and a reason', () => {
  test('one that is gone', async () => {
    await backend.close();
    assert.equal(reasonOf(await session.call('a_echo')), 'backend_unavailable');
    backend = await startBackend();
  });

  covers('limits.timeout.default');
  test('one that is silent for 30 s, and it is told', async () => {
    await session.call('a_echo');
    onCall(backend, () => hang);
    const answer = session.call('a_echo');
    await backend.received(({ method, body }) => method === 'tools/call' && body.includes('"id":3'));
    let isOver = false;
    void answer.then(() => (isOver = true));
    clock.advance(29_999);
    // What the timer of a shorter default sets off would have been heard of before the answer to this.
    assert.equal((await session.request('ping')).status, 200);
    assert.deepEqual([isOver, count(backend, 'notifications/cancelled')], [false, 0]);
    clock.advance(1);
    assert.equal(reasonOf(await answer), 'backend_timeout');
    const told = await backend.received(({ method }) => method === 'notifications/cancelled');
    assert.equal(told.params['requestId'], 3);
  });

  test('its own JSON-RPC error is relayed unchanged', async () => {
    onCall(backend, () => answerError('{"code":-32042,"message":"login","data":{"x":[1.0,1e400]}}'));
    const { text } = await session.call('a_echo');
    assert.equal(text, '{"jsonrpc":"2.0","id":2,"error":{"code":-32042,"message":"login","data":{"x":[1.0,1e400]}}}');
  });

  test('an error without an id gets that of the call', async () => {
    onCall(backend, () => answerStatus(200, '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}'));
    assert.deepEqual((await session.call('a_echo')).json, {
      jsonrpc: '2.0',
      id: 2,
      error: { code: -32600, message: 'no' },
    });
    onCall(backend, () => answerStatus(400, '{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"}}'));
    assert.deepEqual((await session.call('a_echo')).json, {
      jsonrpc: '2.0',
      id: 3,
      error: { code: -32600, message: 'no' },
    });
  });
});

describe('silence', () => {
  test('is broken by messages of the backend, not by comments', async () => {
    const streams: { write: (text: string) => void }[] = [];
    onCall(backend, () => ({ response }) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(': open\n\n');
      streams.push(response);
    });
    const answer = session.call('a_echo', {});
    await backend.received(({ method }) => method === 'tools/call');
    let isOver = false;
    void answer.then(() => (isOver = true));
    const progress = '{"jsonrpc":"2.0","id":"ask-%","method":"ping"}';
    for (let step = 0; step < 3; step += 1) {
      clock.advance(29_000);
      streams[0]?.write(`data: ${progress.replace('%', String(step))}\n\n`);
      // The answer to the backend's ping shows that the message has been heard.
      await backend.received(({ body }) => body.includes(`ask-${step}`));
      assert.equal(isOver, false);
    }
    streams[0]?.write(': comment\n\n');
    clock.advance(30_000);
    assert.equal(reasonOf(await answer), 'backend_timeout');
  });

  test('or not, no call lives longer than 30 minutes', async () => {
    const stream = Promise.withResolvers<{ write: (text: string) => void }>();
    onCall(backend, () => ({ response }) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      stream.resolve(response);
    });
    const answer = session.call('a_echo', {});
    const { write } = await stream.promise.then((response) => ({ write: (text: string) => response.write(text) }));
    for (let minute = 0; minute < 61; minute += 1) {
      clock.advance(29_900);
      write(`data: {"jsonrpc":"2.0","id":"ask-${minute}","method":"ping"}\n\n`);
      if (minute < 60) await backend.received(({ body }) => body.includes(`"ask-${minute}"`));
    }
    assert.equal(reasonOf(await answer), 'backend_timeout');
  });
});

describe('cancellation', () => {
  const givenUp = async (): Promise<void> => {
    await backend.received(({ method }) => method === 'notifications/cancelled');
    clock.advance(2_000);
  };

  test('ends the call, without an answer, and the backend is told under the id it knows', async () => {
    await session.call('a_echo');
    onCall(backend, () => hang);
    const answer = session.send({ jsonrpc: '2.0', id: 'slow', method: 'tools/call', params: { name: 'a_echo' } });
    await backend.received(({ body }) => body.includes('"slow"'));
    const cancel = {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 'slow', reason: 'enough' },
    };
    assert.equal((await session.send(cancel)).status, 202);
    await givenUp();
    const { status, text } = await answer;
    assert.equal(status, 200);
    assert.equal(text, '');
    const told = await backend.received(({ method }) => method === 'notifications/cancelled');
    assert.deepEqual(told.params, { requestId: 'slow', reason: 'enough' });
    assert.equal(
      told.headers['mcp-session-id'],
      backend.requests.find(({ body }) => body.includes('"slow"'))?.headers['mcp-session-id'],
    );
  });

  test('knows a call by its id, however it is spelt', async () => {
    await session.call('a_echo');
    onCall(backend, () => hang);
    const answer = session.send('{"jsonrpc":"2.0","id":70,"method":"tools/call","params":{"name":"a_echo"}}');
    await backend.received(({ body }) => body.includes('"id":70'));
    await session.send('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7.0e1}}');
    await givenUp();
    assert.equal((await answer).text, '');
  });

  test('stays possible: a second request under the id of one still under way is refused', async () => {
    await session.call('a_echo');
    onCall(backend, () => hang);
    const call = '{"jsonrpc":"2.0","id":"twice","method":"tools/call","params":{"name":"a_echo"}}';
    const first = session.send(call);
    await backend.received(({ body }) => body.includes('"twice"'));
    const { status, json } = await session.send(call);
    const { id, error } = json as { id: string; error: { code: number } };
    assert.deepEqual([status, id, error.code], [400, 'twice', -32600]);
    await session.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'twice' } });
    await givenUp();
    assert.equal((await first).text, '');
  });

  describe('of a call that the backend still answers', () => {
    /** Cancels a call at a backend that does `then` with the call once it has heard of that. */
    const cancelled = async (then: (exchange: Parameters<ReturnType<typeof answerJson>>[0]) => unknown) => {
      await session.call('a_echo');
      const cancel = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"slow"}}';
      const heard = Promise.withResolvers<void>();
      onCall(backend, () => (exchange) => void heard.promise.then(() => then(exchange)));
      const answer = session.send({ jsonrpc: '2.0', id: 'slow', method: 'tools/call', params: { name: 'a_echo' } });
      await backend.received(({ body }) => body.includes('"slow"'));
      await session.send(cancel);
      await backend.received(({ method }) => method === 'notifications/cancelled');
      heard.resolve();
      return answer;
    };

    test('brings the client that answer: some wait for one', async () => {
      const { text } = await cancelled(answerError('{"code":0,"message":"Request cancelled"}'));
      assert.equal(text, '{"jsonrpc":"2.0","id":"slow","error":{"code":0,"message":"Request cancelled"}}');
    });

    test('brings nothing when the backend breaks off instead', async () => {
      const { status, text } = await cancelled(({ response }) => response.destroy());
      assert.deepEqual([status, text], [200, '']);
    });
  });

  test("of another session's call does nothing", async () => {
    const other = await openSession(running.url);
    let release = (): void => {};
    onCall(backend, () => (exchange) => {
      release = () => answerJson(textResult('done'))(exchange);
    });
    const answer = session.send({ jsonrpc: '2.0', id: 'slow', method: 'tools/call', params: { name: 'a_echo' } });
    await backend.received(({ body }) => body.includes('"slow"'));
    await other.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'slow' } });
    release();
    assert.equal(resultText(await answer), 'done');
    assert.equal(count(backend, 'notifications/cancelled'), 0);
  });

  test('a client that hangs up cancels nothing', async () => {
    let release = (): void => {};
    onCall(backend, () => (exchange) => {
      release = () => answerJson(textResult('done'))(exchange);
    });
    const hangUp = new AbortController();
    const headers = { 'content-type': 'application/json', 'mcp-session-id': session.id };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 'left', method: 'tools/call', params: { name: 'a_echo' } });
    const answer = fetch(running.url, { method: 'POST', headers, body, signal: hangUp.signal });
    await backend.received(({ body }) => body.includes('"left"'));
    hangUp.abort();
    await assert.rejects(answer);
    assert.equal((await session.request('ping')).status, 200);
    release();
    assert.equal(count(backend, 'notifications/cancelled'), 0);
  });
});
