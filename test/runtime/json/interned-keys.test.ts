import assert from 'node:assert/strict';
import { test } from 'node:test';
import { internedKey } from '../../../runtime/json/interned-keys.ts';

const told = (text: string): string | undefined => {
  const bytes = Buffer.from(`xx"${text}"yy`);
  return internedKey(bytes, 2, bytes.length - 2);
};

const USUAL = [
  'jsonrpc',
  'id',
  'method',
  'params',
  'result',
  'error',
  'name',
  'arguments',
  '_meta',
  'tools/call',
  'io.modelcontextprotocol/protocolVersion',
  'io.modelcontextprotocol/clientCapabilities',
  'io.modelcontextprotocol/clientInfo',
];

test('interned keys are found by their bytes', () => {
  for (const text of USUAL) assert.equal(told(text), text);
});

test('whatever differs from them by a letter, its case or its length is none of them', () => {
  for (const text of USUAL) {
    for (let i = 0; i < text.length; i += 1) {
      assert.equal(told(`${text.slice(0, i)}~${text.slice(i + 1)}`), undefined);
      assert.equal(told(`${text.slice(0, i)}${text.slice(i + 1)}`), undefined);
      assert.equal(told(`${text.slice(0, i)}~${text.slice(i)}`), undefined);
    }
    assert.equal(told(text.toUpperCase()), undefined);
  }
  for (const text of ['', 'a', '\\u0069d', 'é']) assert.equal(told(text), undefined);
});
