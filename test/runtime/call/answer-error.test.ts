import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { errorIn } from '../../../runtime/call/index.ts';

const long = 'x'.repeat(10_000);
const answer = (result: object): string => JSON.stringify({ jsonrpc: '2.0', id: 1, result });
const text = (of: string) => [{ type: 'text', text: of }];

const ROWS: readonly (readonly [what: string, body: string, error: string | undefined])[] = [
  ['a result', answer({ content: text('fine') }), undefined],
  ['an empty result', answer({}), undefined],
  ['a result that is no object', '{"jsonrpc":"2.0","id":1,"result":7,"x":{"isError":true}}', undefined],
  ['a failed tool', answer({ content: text('no'), isError: true }), 'tool_error'],
  ['a failed tool, told first', answer({ isError: true, content: text('no') }), 'tool_error'],
  ['a failed tool, its result before the id', '{"result":{"isError" : true},"jsonrpc":"2.0","id":1}', 'tool_error'],
  ['a tool that has not failed', answer({ content: text('yes'), isError: false }), undefined],
  ['a long answer of a failed tool', answer({ content: text(long), isError: true }), 'tool_error'],
  ['a very long answer of a failed tool', answer({ content: text(long.repeat(20)), isError: true }), 'tool_error'],
  ['a text that speaks of it', answer({ content: text('{"isError":true} "error":{"code":1}') }), undefined],
  ['data that have such a member', answer({ content: [], structuredContent: { isError: true } }), undefined],
  ['data that have an error', answer({ structuredContent: { error: { code: 3 } } }), undefined],
  ['a JSON-RPC error', '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"m"}}', '-32602'],
  ['one that is written otherwise', '{ "error" : { "message" : "a \\"b\\"", "code" : 7 }, "id" : 1 }', '7'],
  ['one without a code', '{"jsonrpc":"2.0","id":"error","error":{"data":{}}}', '-32000'],
  ['one with a long message', JSON.stringify({ id: 1, error: { code: -1, message: long } }), '-1'],
  ['an id that looks like one', '{"jsonrpc":"2.0","id":"\\"error\\":{","result":{}}', undefined],
  ['nothing', '', undefined],
];

suite('the error in an answer', () => {
  for (const [what, body, error] of ROWS) {
    test(`${what}: ${error ?? 'none'}`, () => assert.equal(errorIn(Buffer.from(body)), error));
  }

  test('is found in linear time', () => {
    const body = Buffer.from(`{"a":"${'"error":{"message":"'.replaceAll('"', '\\"').repeat(400)}"error`);
    assert.equal(errorIn(body), undefined);
  });
});
