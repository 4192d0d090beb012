import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { errorOf } from '../../fixtures/answers.ts';
import { INITIALIZE, post } from '../../fixtures/raw-client.ts';
import { startEndpoint } from './endpoint-under-test.ts';

const { running, session } = await startEndpoint();

describe('a request that is not one', () => {
  const rows: readonly (readonly [string, string, number, number])[] = [
    ['not JSON', '{"jsonrpc"', 400, -32700],
    ['nothing', '', 400, -32700],
    ['two messages', '{"jsonrpc":"2.0","id":1,"method":"ping"}{}', 400, -32700],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', 400, -32600],
    ['a number', '1', 400, -32600],
    ['JSON-RPC 1.0', '{"jsonrpc":"1.0","id":1,"method":"ping"}', 400, -32600],
    ['no method', '{"jsonrpc":"2.0","id":1}', 400, -32600],
    ['a method that is no string', '{"jsonrpc":"2.0","id":1,"method":2}', 400, -32600],
    ['a null id', '{"jsonrpc":"2.0","id":null,"method":"ping"}', 400, -32600],
    ['positional params', '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', 400, -32600],
    ['a method given twice', '{"jsonrpc":"2.0","id":1,"method":"ping","m\\u0065thod":"tools/list"}', 400, -32600],
    ['an escape that JSON lacks', '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":"\\q"}}', 400, -32700],
    ['a broken id', '{"jsonrpc":"2.0","id":"\\q","method":"ping"}', 400, -32700],
    ['an id beyond all numbers', '{"jsonrpc":"2.0","id":1e400,"method":"ping"}', 400, -32600],
    ['an object as id', '{"jsonrpc":"2.0","id":{},"method":"ping"}', 400, -32600],
    ['a method in two cases', '{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}', 400, -32600],
    ['params in another case', '{"jsonrpc":"2.0","id":1,"method":"ping","PARAMS":{}}', 400, -32600],
    ['params with a letter that folds to s', '{"jsonrpc":"2.0","id":1,"method":"ping","paramſ":{}}', 400, -32600],
    [
      'a name in two cases',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a_echo","Name":"b"}}',
      400,
      -32600,
    ],
    [
      'arguments in another case',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a_echo","Arguments":{}}}',
      400,
      -32600,
    ],
    [
      'arguments given twice',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a_echo","arguments":{},"arguments":{}}}',
      400,
      -32600,
    ],
    [
      'a URI in two cases',
      '{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a","URI":"b"}}',
      400,
      -32600,
    ],
    ['an id of 300 bytes', `{"jsonrpc":"2.0","id":"${'x'.repeat(300)}","method":"ping"}`, 400, -32600],
    [
      'a name given twice',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a_echo","name":"b"}}',
      400,
      -32600,
    ],
  ];
  for (const [what, body, status, code] of rows) {
    test(`${what} is refused with ${code}`, async () => {
      const answer = await session.send(body);
      assert.equal(answer.status, status);
      assert.equal(errorOf(answer).code, code);
      assert.match(errorOf(answer).data.correlationId ?? '', /^[0-9a-f-]{36}$/);
    });
  }
});

describe('media types', () => {
  const rows: readonly (readonly [Record<string, string>, number])[] = [
    [{ 'content-type': 'text/plain' }, 415],
    [{ 'content-type': '' }, 415],
    [{ 'content-type': 'application/jsonp' }, 415],
    [{ 'content-type': 'application/json; charset=utf-8' }, 200],
    [{ accept: 'text/html' }, 406],
    [{ accept: '*/*' }, 200],
    [{ accept: 'application/json' }, 200],
  ];
  for (const [headers, status] of rows) {
    test(`${JSON.stringify(headers)} → ${status}`, async () => {
      const answer = await post(running.url, INITIALIZE, headers);
      assert.equal(answer.status, status);
      if (status !== 200) assert.equal(errorOf(answer).code, -32600);
    });
  }
});

test('a body above 4 MiB is refused, announced or not', async () => {
  const big = 'x'.repeat(4 * 1024 * 1024);
  const announced = await session.send({ jsonrpc: '2.0', id: 1, method: 'ping', params: { big } });
  assert.equal(announced.status, 413);
  assert.equal(errorOf(announced).code, -32600);
  const chunks = new ReadableStream({
    start: (controller) => {
      controller.enqueue(Buffer.from(big));
      controller.enqueue(Buffer.from(big));
      controller.close();
    },
  });
  const headers = { 'content-type': 'application/json', 'mcp-session-id': session.id };
  const chunked = await fetch(running.url, { method: 'POST', headers, body: chunks, duplex: 'half' });
  assert.equal(chunked.status, 413);
});

test('without a session, or with an unknown one, a body above 64 KiB is refused before it is read', async () => {
  const message = { jsonrpc: '2.0', id: 1, method: 'ping', params: { big: 'x'.repeat(64 * 1024) } };
  assert.equal((await post(running.url, message)).status, 413);
  const unknown = await post(running.url, message, { 'mcp-session-id': 'nobody' });
  assert.equal(unknown.status, 404);
  assert.equal(errorOf(unknown).data.reason, 'session_not_found');
  assert.equal((await session.send(message)).status, 200);
});
