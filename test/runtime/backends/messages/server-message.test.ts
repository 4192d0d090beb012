import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readServerMessage } from '../../../../runtime/backends/messages/server-message.ts';

const read = (text: string) => {
  const bytes = Buffer.from(text);
  const message = readServerMessage(bytes);
  const part = (span: { start: number; end: number } | undefined) => span && text.slice(span.start, span.end);
  if (message?.kind === 'response') return [part(message.id), part(message.result)];
  if (message?.kind === 'error') return [part(message.id), part(message.error)];
  return message?.kind;
};

test('members are known however they are written', () => {
  assert.deepEqual(read(String.raw`{"jsonrpc":"2.0","\u0069d":1,"res\u0075lt":{"a":1}}`), ['1', '{"a":1}']);
  assert.deepEqual(read(String.raw`{"jsonrpc":"2.0","i\u0064":"x","\u0065rror":{}}`), ['"x"', '{}']);
});

test('of a member that is given twice the last one counts', () => {
  assert.deepEqual(read('{"id":1,"result":{"a":1},"id":2,"result":{"b":2}}'), ['2', '{"b":2}']);
});

test('members of others, and names that only begin alike, change nothing', () => {
  assert.deepEqual(read('{"ids":9,"resulT":[],"x":{"id":8},"id":1,"result":{}}'), ['1', '{}']);
});

test('what is no message is none', () => {
  for (const text of [
    '',
    '[]',
    '{}',
    '{"id":1}',
    '{"id":1,"result":[]}',
    '{"id":1,"result":{}} {}',
    '{"id":1,"result":{}',
  ])
    assert.equal(read(text), undefined);
});
