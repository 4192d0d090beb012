import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newContract } from '../../../operator/plan/contract.ts';
import { remembered } from '../../../operator/plan/remembered.ts';

test('equal inputs are answered from memory, until too many others came between', () => {
  const made: string[] = [];
  const make = remembered(({ name }: { readonly name: string; readonly more?: number }) => made.push(name), 2);
  for (const name of ['a', 'b', 'a', 'b']) make({ name });
  make({ more: 1, name: 'a' });
  make({ name: 'a', more: 1 });
  assert.deepEqual(made, ['a', 'b', 'a']);
  make({ name: 'b' });
  make({ name: 'a' });
  assert.deepEqual(made, ['a', 'b', 'a', 'a']);
});

test('files that say the same are rendered and checked once, those of another contract are its own', () => {
  const contract = newContract();
  const input = (name: string) => ({
    main: { name, incomingAuth: { type: 'anonymous' } },
    found: { backends: [], withheld: [] },
  });
  const first = contract.filesOf(input('demo'));
  assert.equal(contract.filesOf(input('demo')), first);
  assert.notEqual(contract.filesOf(input('other')), first);
  assert.notEqual(newContract().filesOf(input('demo')), first);
});
