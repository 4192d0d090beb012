import assert from 'node:assert/strict';
import { describe, mock, test, type TestContext } from 'node:test';
import { memoryStore } from '../../../../runtime/store/memory-store.ts';
import { frozenClock } from '../../../fixtures/frozen-clock.ts';
import { authorize, redeem, refresh, refreshTokenOf, signIn, type TokenAnswer } from './client.ts';
import { type ReplicaSettings, startReplica } from './provider.ts';

const DAY_SECONDS = 86_400;
const outcome = ({ status, body }: TokenAnswer): readonly unknown[] => [status, body['error']];
const WORKS = [200, undefined];
const REFUSED = [400, 'invalid_grant'];

/** A replica, and the time: the library reads it from `Date`. */
const given = async (context: TestContext, lifespans: ReplicaSettings['lifespans'] = {}) => {
  const start = Date.now();
  mock.timers.enable({ apis: ['Date'], now: start });
  const clock = frozenClock(start);
  const store = memoryStore({ clock });
  const replica = await startReplica({ store, clock, lifespans });
  context.after(async () => {
    mock.timers.reset();
    await replica.stop();
    await store.close();
  });
  const advance = (seconds: number): void => {
    clock.advance(seconds * 1_000);
    mock.timers.setTime(clock.now());
  };
  return { url: replica.url, advance };
};

describe('lifespans', () => {
  test('of codes', async (context) => {
    const { url, advance } = await given(context, { code: 300 });
    const codes = [await authorize(url), await authorize(url)].map(({ code }) => code);
    advance(299);
    assert.deepEqual(outcome(await redeem(url, codes[0] ?? '')), WORKS);
    advance(1);
    assert.deepEqual(outcome(await redeem(url, codes[1] ?? '')), REFUSED);
  });

  test('of refresh tokens', async (context) => {
    const { url, advance } = await given(context, { refresh: 2 * DAY_SECONDS });
    const tokens = [await signIn(url), await signIn(url)].map(refreshTokenOf);
    advance(2 * DAY_SECONDS - 1);
    assert.deepEqual(outcome(await refresh(url, tokens[0] ?? '')), WORKS);
    advance(1);
    assert.deepEqual(outcome(await refresh(url, tokens[1] ?? '')), REFUSED);
  });

  test('of refresh tokens begin anew with each, so that who comes back in time is never logged out', async (context) => {
    const { url, advance } = await given(context, { refresh: 7 * DAY_SECONDS });
    let token = refreshTokenOf(await signIn(url));
    for (let week = 0; week < 60; week += 1) {
      advance(7 * DAY_SECONDS - 1);
      const answer = await refresh(url, token);
      assert.deepEqual(outcome(answer), WORKS);
      token = refreshTokenOf(answer);
    }
  });

  test('of a refresh token that was answered just before its end do not take the answer away', async (context) => {
    const { url, advance } = await given(context, { refresh: DAY_SECONDS });
    const token = refreshTokenOf(await signIn(url));
    advance(DAY_SECONDS - 1);
    const answer = await refresh(url, token);
    advance(5);
    assert.equal(refreshTokenOf(await refresh(url, token)), refreshTokenOf(answer));
  });

  test('of access tokens that are shorter than the window give no token that has ended', async (context) => {
    const { url, advance } = await given(context, { access: 10 });
    const token = refreshTokenOf(await signIn(url));
    const answer = await refresh(url, token);
    advance(9);
    const again = await refresh(url, token);
    assert.equal(refreshTokenOf(again), refreshTokenOf(answer));
    assert.equal(again.body['expires_in'], 10);
  });
});
