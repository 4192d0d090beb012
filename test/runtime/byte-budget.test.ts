import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ByteBudget, Share } from '../../runtime/byte-budget.ts';

test('shares of one budget never hold more than it together', () => {
  const budget = new ByteBudget(100);
  const [a, b] = [new Share(budget), new Share(budget)];
  assert.ok(a.resize(60));
  assert.ok(!b.resize(41));
  assert.ok(b.grow(40));
  assert.ok(!b.grow(1));
  assert.equal(budget.taken, 100);
  assert.ok(a.resize(10));
  assert.ok(b.grow(50));
  a.release();
  b.release();
  assert.equal(budget.taken, 0);
});
