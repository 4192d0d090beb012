import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newContract } from '../../../operator/plan/contract.ts';
import { memoized } from '../../../operator/plan/memoized.ts';

test('equal inputs are answered from memory, until too many others came between', () => {
  const made: string[] = [];
  const make = memoized(({ name }: { readonly name: string; readonly more?: number }) => made.push(name), 2);
  for (const name of ['a', 'b', 'a', 'b']) make({ name });
  make({ more: 1, name: 'a' });
  make({ name: 'a', more: 1 });
  assert.deepEqual(made, ['a', 'b', 'a']);
  make({ name: 'b' });
  make({ name: 'a' });
  assert.deepEqual(made, ['a', 'b', 'a', 'a']);
});

test('large inputs count for more', () => {
  const made: string[] = [];
  const make = memoized(({ name }: { readonly name: string }) => made.push(name.slice(0, 1)), 100, 200);
  const [a, b, c] = ['a', 'b', 'c'].map((letter) => ({ name: letter.repeat(80) })) as [
    { name: string },
    { name: string },
    { name: string },
  ];
  for (const input of [a, b, a, b, c, b, c, a]) make(input);
  assert.deepEqual(made, ['a', 'b', 'c', 'a']);
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
