import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { beforeEach, describe, test } from 'node:test';
import { CredentialCache, type Obtain } from '../../../runtime/outgoing/credential-cache.ts';
import {
  credentialIssuer,
  type CredentialIssuer,
  givesAtOnce,
  settle,
  unused,
} from '../../fixtures/credential-issuer.ts';
import { type FrozenClock, frozenClock } from '../../fixtures/frozen-clock.ts';

const MINUTE = 60_000;

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

describe('callers that need a credential at the same time', () => {
  test('share one request to the issuer', async () => {
    const { obtain, asked, at } = issuer();
    const all = [ask('k', obtain), ask('k', unused), ask('k', unused, new AbortController().signal)];
    await settle();
    assert.equal(asked.length, 1);
    at(0).gives('a', 5 * MINUTE);
    assert.deepEqual(await Promise.all(all), ['a', 'a', 'a']);
  });

  test('share no request with those of another key', async () => {
    const { obtain, asked, at } = issuer();
    const all = [ask('k', obtain), ask('l', obtain)];
    await settle();
    assert.equal(asked.length, 2);
    at(1).gives('l', 5 * MINUTE);
    at(0).gives('k', 5 * MINUTE);
    assert.deepEqual(await Promise.all(all), ['k', 'l']);
  });

  test('get its failure, all of them, and the next one tries again', async () => {
    const { obtain, at } = issuer();
    const [one, two] = [ask('k', obtain), ask('k', unused, new AbortController().signal)];
    await settle();
    const failure = new Error('the issuer is away');
    at(0).fails(failure);
    const isIt = (error: unknown): boolean => error === failure;
    await Promise.all([assert.rejects(one, isIt), assert.rejects(two, isIt)]);
    assert.equal(await cache.get('k', gives('a', 5 * MINUTE)), 'a');
  });

  test('get a failure that is thrown before anything is sent, too', async () => {
    const failure = new Error('no subject token');
    const throws: Obtain<string> = () => {
      throw failure;
    };
    await assert.rejects(ask('k', throws), (error) => error === failure);
    assert.equal(await cache.get('k', gives('a', 5 * MINUTE)), 'a');
  });

  test('do not lose it when one of them gives up', async () => {
    const { obtain, at } = issuer();
    const stop = new AbortController();
    const [first, second] = [ask('k', obtain, stop.signal), ask('k', unused)];
    await settle();
    const reason = new Error('cancelled');
    stop.abort(reason);
    await assert.rejects(first, (error) => error === reason);
    assert.equal(at(0).signal.aborted, false);
    at(0).gives('a', 5 * MINUTE);
    assert.equal(await second, 'a');
    assert.equal(cache.get('k', unused), 'a');
  });

  test('break the request off when the last of them gives up', async () => {
    const { obtain, at } = issuer();
    const stops = [new AbortController(), new AbortController()];
    const all = stops.map(({ signal }) => assert.rejects(ask('k', obtain, signal), /^Error: gone$/));
    await settle();
    stops[0]?.abort(new Error('gone'));
    assert.equal(at(0).signal.aborted, false);
    stops[1]?.abort(new Error('gone'));
    assert.equal(at(0).signal.aborted, true);
    await Promise.all(all);
  });

  test('may give up before the issuer is asked: it is not', async () => {
    const { obtain, asked } = issuer();
    const stop = new AbortController();
    const gone = assert.rejects(ask('k', obtain, stop.signal), { name: 'AbortError' });
    stop.abort();
    await gone;
    await settle();
    assert.equal(asked.length, 0);
  });

  test('that have given up already get what is held, and nothing else', async () => {
    const signal = AbortSignal.abort();
    await assert.rejects(ask('k', unused, signal), { name: 'AbortError' });
    await cache.get('k', gives('a', 5 * MINUTE));
    assert.equal(cache.get('k', unused, signal), 'a');
  });

  test('leave no listener on their signals', async () => {
    const { signal } = new AbortController();
    await cache.get('k', gives('a', 5 * MINUTE), signal);
    await assert.rejects(
      ask('l', async () => Promise.reject(new Error('no')), signal),
      /no/,
    );
    await settle();
    assert.equal(getEventListeners(signal, 'abort').length, 0);
  });

  test('find nothing of a request that failed after they were gone', async () => {
    const { obtain, at } = issuer();
    const stop = new AbortController();
    const gone = assert.rejects(ask('k', obtain, stop.signal), { name: 'AbortError' });
    await settle();
    stop.abort();
    await gone;
    // An unhandled rejection would fail this test.
    at(0).fails(new Error('aborted'));
    await settle();
    assert.equal(await cache.get('k', gives('a', 5 * MINUTE)), 'a');
  });
});

describe('an answer that comes after all who waited have given up', () => {
  const abandoned = async () => {
    const late = issuer();
    const stop = new AbortController();
    const gone = assert.rejects(ask('k', late.obtain, stop.signal), { name: 'AbortError' });
    await settle();
    stop.abort();
    await gone;
    return late.at(0);
  };

  test('is not held', async () => {
    const late = await abandoned();
    late.gives('late', 5 * MINUTE);
    await settle();
    assert.equal(await cache.get('k', gives('new', 5 * MINUTE)), 'new');
  });

  test('replaces no newer one', async () => {
    const late = await abandoned();
    assert.equal(await cache.get('k', gives('new', 5 * MINUTE)), 'new');
    late.gives('late', 10 * MINUTE);
    await settle();
    assert.equal(cache.get('k', unused), 'new');
  });

  test('ends no newer request, nor does its failure', async () => {
    for (const end of ['gives', 'fails'] as const) {
      const late = await abandoned();
      const { obtain, at, asked } = issuer();
      const first = ask('k', obtain);
      await settle();
      if (end === 'gives') late.gives('late', 5 * MINUTE);
      else late.fails(new Error('late'));
      await settle();
      const second = ask('k', unused);
      at(0).gives('new', 5 * MINUTE);
      assert.deepEqual(await Promise.all([first, second]), ['new', 'new']);
      assert.equal(asked.length, 1);
      cache.drop('k', 'new');
    }
  });
});
