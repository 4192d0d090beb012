import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { CredentialCache, credentialKey, type Obtain } from '../../../runtime/outgoing/credential-cache.ts';
import {
  credentialIssuer,
  type CredentialIssuer,
  givesAtOnce,
  settle,
  unused,
} from '../../fixtures/credential-issuer.ts';
import { type FrozenClock, frozenClock } from '../../fixtures/frozen-clock.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

let clock: FrozenClock;
let cache: CredentialCache<string>;
let gives: ReturnType<typeof givesAtOnce>;
const issuer = (): CredentialIssuer => credentialIssuer(clock.now);

beforeEach(() => {
  clock = frozenClock();
  cache = new CredentialCache({ clock, limit: 3 });
  gives = givesAtOnce(clock.now);
});

const ask = async (key: string, obtain: Obtain<string>, signal?: AbortSignal): Promise<string> =>
  cache.get(key, obtain, signal);

describe('a credential', () => {
  test('is given at once, without a promise, while it is valid', async () => {
    assert.equal(await cache.get('k', gives('a', 5 * MINUTE)), 'a');
    assert.equal(cache.get('k', unused), 'a');
  });

  const lives: readonly (readonly [lifeMs: number | undefined, usedMs: number])[] = [
    [60 * MINUTE, 60 * MINUTE - 30 * SECOND],
    [2 * MINUTE, 90 * SECOND],
    [1 * MINUTE, 45 * SECOND],
    [4 * SECOND, 3 * SECOND],
    [4, 3],
    [undefined, 1 * MINUTE],
    [NaN, 1 * MINUTE],
    [Infinity, 1 * MINUTE],
  ];
  for (const [lifeMs, usedMs] of lives)
    test(`of ${lifeMs} ms is used for ${usedMs} ms`, async () => {
      await cache.get('k', gives('a', lifeMs));
      clock.advance(usedMs - 1);
      assert.equal(cache.get('k', unused), 'a');
      clock.advance(1);
      assert.equal(await cache.get('k', gives('b', lifeMs)), 'b');
    });

  test('is used for as long as the options say', async () => {
    cache = new CredentialCache({ clock, limit: 3, skewMs: 0, unknownLifeMs: 2 * SECOND });
    await cache.get('known', gives('a', 1 * SECOND));
    await cache.get('unknown', gives('b'));
    clock.advance(1 * SECOND - 1);
    assert.equal(cache.get('known', unused), 'a');
    clock.advance(1);
    assert.equal(await cache.get('known', gives('c', 1 * SECOND)), 'c');
    clock.advance(1 * SECOND);
    assert.equal(await cache.get('unknown', gives('d')), 'd');
  });

  for (const lifeMs of [0, -1, -60 * MINUTE])
    test(`that has ${lifeMs} ms to live when it comes is handed out and not held`, async () => {
      assert.equal(await cache.get('k', gives('a', lifeMs)), 'a');
      assert.equal(await cache.get('k', gives('b', lifeMs)), 'b');
    });

  test('of one key is no other key’s', async () => {
    await cache.get('k', gives('a', 5 * MINUTE));
    assert.equal(await cache.get('l', gives('b', 5 * MINUTE)), 'b');
    assert.equal(cache.get('k', unused), 'a');
  });

  test('asked for longest ago goes when there are too many', async () => {
    for (const key of ['a', 'b', 'c']) await cache.get(key, gives(key, 5 * MINUTE));
    assert.equal(cache.get('a', unused), 'a');
    await cache.get('d', gives('d', 5 * MINUTE));
    for (const key of ['a', 'c', 'd']) assert.equal(cache.get(key, unused), key);
    assert.equal(await cache.get('b', gives('anew', 5 * MINUTE)), 'anew');
  });

  test('may be any value, undefined as well', async () => {
    const other = new CredentialCache<undefined>({ clock, limit: 1 });
    assert.equal(await other.get('k', async () => ({ value: undefined, expiresAt: undefined })), undefined);
    assert.equal(
      other.get('k', () => assert.fail('asked the issuer')),
      undefined,
    );
  });
});

describe('a credential that a backend refused', () => {
  test('is forgotten', async () => {
    await cache.get('k', gives('a', 5 * MINUTE));
    cache.drop('k', 'a');
    assert.equal(await cache.get('k', gives('b', 5 * MINUTE)), 'b');
  });

  test('is obtained once for all calls that were refused with it', async () => {
    await cache.get('k', gives('a', 5 * MINUTE));
    const { obtain, asked, at } = issuer();
    cache.drop('k', 'a');
    const first = ask('k', obtain);
    cache.drop('k', 'a');
    const second = ask('k', obtain);
    await settle();
    at(0).gives('b', 5 * MINUTE);
    assert.deepEqual(await Promise.all([first, second]), ['b', 'b']);
    cache.drop('k', 'a');
    assert.equal(cache.get('k', obtain), 'b');
    assert.equal(asked.length, 1);
  });

  test('of another key takes nothing away', async () => {
    await cache.get('k', gives('a', 5 * MINUTE));
    cache.drop('l', 'a');
    assert.equal(cache.get('k', unused), 'a');
  });

  test('is told by identity', async () => {
    const objects = new CredentialCache<{ token: string }>({ clock, limit: 1 });
    const held = { token: 'a' };
    await objects.get('k', async () => ({ value: held, expiresAt: undefined }));
    objects.drop('k', { token: 'a' });
    assert.equal(
      objects.get('k', () => assert.fail('asked the issuer')),
      held,
    );
    objects.drop('k', held);
    const other = { token: 'b' };
    assert.equal(await objects.get('k', async () => ({ value: other, expiresAt: undefined })), other);
  });
});

describe('a clock that is set', () => {
  test('forward ends credentials early, and back again revives none', async () => {
    await cache.get('k', gives('a', 5 * MINUTE));
    clock.advance(60 * MINUTE);
    assert.equal(await cache.get('k', gives('b', 5 * MINUTE)), 'b');
    clock.advance(-60 * MINUTE);
    assert.equal(await cache.get('k', gives('c', 5 * MINUTE)), 'c');
    assert.equal(cache.get('k', unused), 'c');
  });

  test('back forgets credentials, whose expiry would come too late', async () => {
    await cache.get('k', gives('a', 5 * MINUTE));
    clock.advance(-1);
    assert.equal(await cache.get('k', gives('b', 5 * MINUTE)), 'b');
  });

  test('back while the issuer is asked lets the answer be used once', async () => {
    const { obtain, at } = issuer();
    const first = ask('k', obtain);
    await settle();
    at(0).gives('a', 5 * MINUTE);
    clock.advance(-60 * MINUTE);
    assert.equal(await first, 'a');
    assert.equal(await cache.get('k', gives('b', 5 * MINUTE)), 'b');
  });

  test('back by another key’s caller while the issuer is asked, likewise', async () => {
    const { obtain, at } = issuer();
    const first = ask('k', obtain);
    await settle();
    clock.advance(-60 * MINUTE);
    await cache.get('l', gives('l', 5 * MINUTE));
    clock.advance(60 * MINUTE);
    at(0).gives('a', 5 * MINUTE);
    assert.equal(await first, 'a');
    assert.equal(await cache.get('k', gives('b', 5 * MINUTE)), 'b');
  });
});

describe('a key', () => {
  test('holds nothing of what it is made of', () => {
    assert.match(credentialKey(['token-exchange', 'github', 'secret']), /^[A-Za-z0-9_-]{43}$/);
  });

  test('is the same for the same parts', () => {
    assert.equal(credentialKey(['a', 'b']), credentialKey(['a', 'b']));
  });

  test('tells all of these apart', () => {
    const all: readonly (readonly string[])[] = [
      [],
      [''],
      ['', ''],
      ['a', 'b'],
      ['b', 'a'],
      ['ab'],
      ['ab', ''],
      ['', 'ab'],
      ['a,b'],
      ['a","b'],
      ['a"', '"b'],
      ['a\\', 'b'],
      ['a\\"', 'b'],
      ['["a","b"]'],
      ['a\u0000b'],
      ['a\\u0000b'],
      ['\ud800'],
      ['\udc00'],
      ['\ufffd'],
      ['\\ud800'],
      ['é'],
      ['e\u0301'],
    ];
    assert.equal(new Set(all.map(credentialKey)).size, all.length);
  });
});
