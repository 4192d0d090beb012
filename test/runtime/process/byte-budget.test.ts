import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ByteBudget, Share } from '../../../runtime/process/byte-budget.ts';

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

const half = (limit: number): number => limit / 2;

test('a part of a budget holds no more than its part, and counts in the whole', () => {
  const whole = new ByteBudget(100);
  const [a, b, c] = [new Share(whole.part(half)), new Share(whole.part(half)), new Share(whole)];
  assert.ok(!a.resize(51));
  assert.ok(a.resize(50));
  assert.ok(b.resize(40));
  assert.ok(!c.resize(11));
  assert.ok(c.resize(10));
  assert.ok(!b.resize(41));
  assert.equal(b.resize(40), true);
  a.release();
  b.release();
  c.release();
  assert.equal(whole.taken, 0);
});

test('who may give way does, when it is due, for others and as few as needed, who began first before the rest', () => {
  const whole = new ByteBudget(100);
  const part = whole.part(half);
  const cut: string[] = [];
  let isDue = false;
  const share = (name: string, budget: ByteBudget, bytes: number): Share => {
    const made = new Share(budget);
    assert.ok(made.resize(bytes));
    made.mayGiveWay({ isDue: () => isDue, cut: () => cut.push(name) });
    return made;
  };
  const first = share('first', part, 30);
  const second = share('second', part, 20);
  const other = share('other', whole, 50);
  assert.ok(!first.resize(31), 'nobody is due');
  isDue = true;
  assert.ok(first.resize(31), 'the second makes room for the first, which does not for itself');
  assert.deepEqual(cut, ['second']);
  assert.equal(whole.taken, 81);
  first.keep();
  second.release();
  assert.ok(!first.resize(51), 'more than the part can hold');
  assert.ok(!new Share(part).resize(20), 'who keeps what it has does not give way');
  assert.ok(new Share(whole).resize(60));
  assert.deepEqual(cut, ['second', 'other']);
  other.release();
  assert.equal(whole.taken, 91);
});
