import assert from 'node:assert/strict';
import { reservedKeys } from '../../../operator/validate/reserved-keys.ts';
import { test } from 'node:test';
import type { KubeObject } from '../../../operator/object.ts';
import { toldOf } from './violation-texts.ts';

test('a key that JavaScript takes for another thing is refused, and reported with its path', () => {
  const server = JSON.parse(
    `{"apiVersion":"vmcp.dev/v1beta1","kind":"VirtualMCPServer","metadata":{"name":"it","namespace":"default"},
      "spec":{"groupRef":{"name":"tools"},"incomingAuth":{"type":"anonymous"},
        "config":{"metadata":{"__proto__":"a"},"compositeTools":[{"name":"a","steps":[{"id":"b","tool":"c.d","arguments":{"x":{"__proto__":{}}}}]}]}}}`,
  ) as KubeObject;
  assert.deepEqual(toldOf(server).slice(0, 2), [
    'spec.config.metadata.__proto__: is not a usable key; give it another name',
    'spec.config.compositeTools[0].steps[0].arguments.x.__proto__: is not a usable key; give it another name',
  ]);
});

test('so many are reported, and no more are looked for', () => {
  const all = Array.from({ length: 5_000 }, () => JSON.parse('{"__proto__":1}') as object);
  assert.equal(
    reservedKeys.validate({ apiVersion: 'a', kind: 'b', metadata: { name: 'c' }, spec: { all } }, () => undefined)
      .length,
    100,
  );
});
