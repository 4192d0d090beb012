import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { errorOf, reasonOf } from '../fixtures/answers.ts';
import { answerError, answerJson, answerStatus, type Behaviour, hang } from '../fixtures/backend.ts';
import { breaksOff, head } from '../fixtures/chaos-backend.ts';
import { circuitOf, withBreaker } from '../fixtures/circuits.ts';
import { type Gateway, onCall, startGateway, stopGateway } from '../fixtures/gateway.ts';

let at: Gateway;
afterEach(() => stopGateway(at));

const failCalls = async (times: number): Promise<void> => {
  onCall(at.backend, () => answerStatus(503));
  for (let n = 0; n < times; n += 1) assert.equal(reasonOf(await at.session.call('a_echo')), 'backend_unavailable');
};

describe('what counts as a failure', () => {
  beforeEach(async () => {
    at = await startGateway(withBreaker({ failureThreshold: 1 }));
  });

  const failures: readonly (readonly [what: string, how: Behaviour])[] = [
    ['HTTP 500', answerStatus(500)],
    [
      'HTTP 503 with a JSON-RPC error that is no answer',
      answerStatus(503, '{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}'),
    ],
    ['a connection that breaks before the answer', ({ response }) => void response.socket?.destroy()],
    [
      'an answer that is cut off',
      breaksOff(head('content-type: application/json', 'content-length: 900'), '{"jsonrpc"'),
    ],
    [
      'an event stream that ends without an answer',
      breaksOff(head('content-type: text/event-stream', 'connection: close'), ': hm\n\n'),
    ],
  ];
  for (const [what, how] of failures) {
    test(`${what} does`, async () => {
      onCall(at.backend, () => how);
      await at.session.call('a_echo');
      assert.equal(circuitOf(at.running), 'open');
    });
  }

  test('silence until the timeout does', async () => {
    onCall(at.backend, () => hang);
    const answer = at.session.call('a_echo');
    await at.backend.received(({ method }) => method === 'tools/call');
    at.clock.advance(30_000);
    assert.equal(reasonOf(await answer), 'backend_timeout');
    assert.equal(circuitOf(at.running), 'open');
  });

  test('a server that is gone does', async () => {
    await at.backend.close();
    assert.equal(reasonOf(await at.session.call('a_echo')), 'backend_unavailable');
    assert.equal(circuitOf(at.running), 'open');
  });

  const others: readonly (readonly [what: string, how: Behaviour])[] = [
    ['a JSON-RPC error', answerError('{"code":-32603,"message":"internal"}')],
    ['a tool that fails', answerJson('{"content":[],"isError":true}')],
    [
      'HTTP 500 with the JSON-RPC error of this call',
      ({ id, response }) =>
        void response
          .writeHead(500, { 'content-type': 'application/json' })
          .end(`{"jsonrpc":"2.0","id":${id},"error":{"code":-32603,"message":"m"}}`),
    ],
    ['HTTP 429', answerStatus(429)],
    ['HTTP 401', answerStatus(401)],
    ['HTTP 413', answerStatus(413)],
  ];
  for (const [what, how] of others) {
    test(`${what} does not`, async () => {
      onCall(at.backend, () => how);
      await at.session.call('a_echo');
      assert.equal(circuitOf(at.running), 'closed');
    });
  }

  test('a call that its client cancels does not', async () => {
    onCall(at.backend, () => hang);
    const answer = at.session.send({ jsonrpc: '2.0', id: 77, method: 'tools/call', params: { name: 'a_echo' } });
    await at.backend.received(({ method }) => method === 'tools/call');
    await at.session.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 77 } });
    at.clock.advance(2_000);
    await answer;
    assert.equal(circuitOf(at.running), 'closed');
  });

  test('a name that nobody has does not, and is told as ever while the circuit is open', async () => {
    assert.equal(errorOf(await at.session.call('a_made_up')).data.reason, 'unknown_name');
    assert.equal(circuitOf(at.running), 'closed');
    await failCalls(1);
    assert.equal(errorOf(await at.session.call('a_made_up')).data.reason, 'unknown_name');
  });
});
