import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { memoryStore } from '../../../../runtime/store/memory-store.ts';
import { frozenClock } from '../../../fixtures/frozen-clock.ts';
import { authorize, redeem, refresh, refreshTokenOf, signIn, type TokenAnswer } from './client.ts';
import { OTHER_SECRET, SECRET, startReplica } from './provider.ts';

const outcome = ({ status, body }: TokenAnswer): readonly unknown[] => [status, body['error']];
const WORKS = [200, undefined];
const REFUSED = [400, 'invalid_grant'];
const TRY_AGAIN = [503, 'temporarily_unavailable'];

/** A store that outlives replicas, and replicas with the secrets that are listed. */
const givenStore = (context: TestContext) => {
  const clock = frozenClock(Date.now());
  const store = memoryStore({ clock });
  context.after(() => store.close());
  const start = async (...secrets: readonly Buffer[]): Promise<string> => {
    const replica = await startReplica({ store, clock, secrets: () => secrets });
    context.after(() => replica.stop());
    return replica.url;
  };
  return { clock, start };
};

describe('HMAC secrets', () => {
  test('that are listed later still open codes', async (context) => {
    const { start } = givenStore(context);
    const { code } = await authorize(await start(SECRET));
    assert.deepEqual(outcome(await redeem(await start(OTHER_SECRET, SECRET), code)), WORKS);
  });

  test('that are listed later still open refresh tokens', async (context) => {
    const { start } = givenStore(context);
    const token = refreshTokenOf(await signIn(await start(SECRET)));
    assert.deepEqual(outcome(await refresh(await start(OTHER_SECRET, SECRET), token)), WORKS);
  });

  test('that are listed first seal what is issued, which outlives the removal of the others', async (context) => {
    const { start, clock } = givenStore(context);
    const before = await start(SECRET);
    const [refreshed, idle] = [await signIn(before), await signIn(before)].map(refreshTokenOf);
    const { code } = await authorize(before);
    const during = await start(OTHER_SECRET, SECRET);
    const renewed = refreshTokenOf(await refresh(during, refreshed ?? ''));
    const { code: newCode } = await authorize(during);
    const later = await start(OTHER_SECRET);
    clock.advance(4 * 60_000);
    assert.deepEqual(outcome(await refresh(later, renewed)), WORKS);
    assert.deepEqual(outcome(await redeem(later, newCode)), WORKS);
    assert.deepEqual(outcome(await refresh(later, idle ?? '')), REFUSED);
    assert.deepEqual(outcome(await redeem(later, code)), REFUSED);
  });

  test('that have not reached a replica yet are waited for there, and log nobody out', async (context) => {
    const { start, clock } = givenStore(context);
    const [updated, behind] = [await start(OTHER_SECRET, SECRET), await start(SECRET)];
    const token = refreshTokenOf(await signIn(updated));
    const { code } = await authorize(updated);
    assert.deepEqual(outcome(await refresh(behind, token)), TRY_AGAIN);
    assert.deepEqual(outcome(await redeem(behind, code)), TRY_AGAIN);
    assert.deepEqual(outcome(await redeem(updated, code)), WORKS);
    clock.advance(10 * 60_000);
    assert.deepEqual(outcome(await refresh(behind, token)), REFUSED);
    assert.deepEqual(outcome(await refresh(updated, token)), WORKS);
  });

  test('are kept through a restart, or what they sealed is lost', async (context) => {
    const { start, clock } = givenStore(context);
    const first = await start(SECRET);
    const [token, other] = [await signIn(first), await signIn(first)].map(refreshTokenOf);
    const { code } = await authorize(first);
    clock.advance(10 * 60_000 - 1_000);
    const restarted = await start(OTHER_SECRET);
    assert.deepEqual(outcome(await redeem(restarted, code)), REFUSED);
    assert.deepEqual(outcome(await refresh(restarted, token ?? '')), REFUSED);
    assert.deepEqual(outcome(await refresh(await start(SECRET), other ?? '')), WORKS);
  });
});
