import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Access } from '../../../runtime/call/call.ts';
import { bucketsFor, type RateLimits } from '../../../runtime/gate/rate-limits.ts';
import { STORE_LIMITS } from '../../../runtime/store/store.ts';
import { userOf } from '../../fixtures/callers.ts';
import { covers } from '../../requirements.ts';

const size = (capacity: number) => ({ capacity, refillPeriodMs: 1_000 });

const LIMITS: RateLimits = {
  server: 'test',
  shared: size(1),
  perUser: size(2),
  tools: new Map([
    ['a', { shared: size(3), perUser: size(4) }],
    ['b', { perUser: size(5) }],
  ]),
};

const call = (more: Partial<Access> = {}): Access => ({
  caller: userOf('ann'),
  method: 'tools/call',
  name: 'a',
  names: 'tool',
  origin: 'client',
  ...more,
});

const capacities = (access: Access): readonly number[] => bucketsFor(LIMITS)(access).map(({ capacity }) => capacity);
const keys = (access: Access, limits = LIMITS): readonly string[] => bucketsFor(limits)(access).map(({ key }) => key);

describe('the buckets of a call', () => {
  test('are those of the server and those of its tool', () => {
    assert.deepEqual(capacities(call()), [1, 2, 3, 4]);
    assert.deepEqual(capacities(call({ name: 'b' })), [1, 2, 5]);
    assert.deepEqual(capacities(call({ name: 'c' })), [1, 2]);
    assert.deepEqual(capacities(call({ name: 'constructor' })), [1, 2]);
  });

  test('are those of its tool alone where a tool makes the call: the client has made one request', () => {
    for (const origin of ['workflow', 'optimizer'] as const) {
      assert.deepEqual(capacities(call({ origin })), [3, 4]);
      assert.deepEqual(capacities(call({ origin, name: 'c' })), []);
    }
  });

  test('are those of the server for whatever asks a backend for something new', () => {
    for (const [method, names] of [
      ['prompts/get', 'prompt'],
      ['resources/read', 'resource'],
      ['resources/subscribe', 'resource'],
      ['subscriptions/listen', 'resource'],
      ['completion/complete', 'prompt'],
    ] as const)
      assert.deepEqual(capacities(call({ method, names })), [1, 2], method);
  });

  test('are none for what goes on with work that was counted, or ends it', () => {
    for (const [method, names] of [
      ['resources/unsubscribe', 'resource'],
      ['subscriptions/listen', 'task'],
      ['tasks/get', 'task'],
      ['tasks/update', 'task'],
      ['tasks/cancel', 'task'],
    ] as const)
      assert.deepEqual(capacities(call({ method, names })), [], method);
  });

  test('differ by issuer and subject, and not by token or client', () => {
    const of = (caller: Access['caller']): string => keys(call({ caller }))[1] ?? '';
    const ann = of(userOf('ann'));
    assert.equal(of(userOf('ann', { token: 'newer', claims: { client_id: 'other' } })), ann);
    const others = [userOf('bob'), userOf('ann', { issuer: 'https://other.example' }), { kind: 'anonymous' as const }];
    assert.equal(new Set([ann, ...others.map(of)]).size, 4);
  });

  test('do not grow into one another, whatever servers, tools and users are called', () => {
    const all = [
      ...keys(call()),
      ...keys(call({ name: 'b' })).slice(2),
      ...keys(call({ caller: userOf('ann:shared') })).filter((key) => key.includes('user')),
      ...keys(call(), { ...LIMITS, server: 'test:tool' }),
    ];
    assert.equal(new Set(all).size, 4 + 1 + 2 + 4);
  });

  covers('limits.per-user-key-count');
  test('are one of each user for the server, and one for each tool with a limit per user', () => {
    const users = ['ann', 'bob', 'eve'].map((subject) => userOf(subject));
    const all = users.flatMap((caller) => ['a', 'b', 'c'].flatMap((name) => keys(call({ caller, name }))));
    const perUser = new Set(all.filter((key) => key.includes(':user:')));
    assert.equal(perUser.size, 3 * (1 + 2));
  });

  test('have one hash tag and name nobody, in keys that the store takes', () => {
    const long = 'é'.repeat(10_000);
    const limits = { ...LIMITS, server: long, tools: new Map([[long, LIMITS.tools.get('a') ?? {}]]) };
    const buckets = bucketsFor(limits)(call({ caller: userOf(long), name: long }));
    assert.equal(buckets.length, 4);
    for (const { key, overflowKey = '' } of buckets)
      for (const each of [key, overflowKey]) {
        assert.ok(each.length < STORE_LIMITS.keyBytes / 2);
        assert.match(each, /^(\{[\w-]{16}\}[\w:-]+)?$/);
      }
    assert.equal(new Set(buckets.map(({ key }) => key.slice(0, 18))).size, 1);
  });

  test('of users may be counted together in a bounded number of buckets, of each limit by itself', () => {
    const overflow = new Set<string>();
    for (let at = 0; at < 50_000; at += 1)
      for (const { overflowKey } of bucketsFor(LIMITS)(call({ caller: userOf(`${at}`) })))
        if (overflowKey !== undefined) overflow.add(overflowKey);
    // Two of the three limits per user.
    assert.ok(overflow.size > 10_000 && overflow.size <= (16_384 * 2) / 3, `${overflow.size}`);
  });
});
