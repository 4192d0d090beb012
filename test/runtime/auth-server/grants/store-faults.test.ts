import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { markRevoked } from '../../../../runtime/auth-server/grants/revoked-users.ts';
import { type FrozenClock, frozenClock } from '../../../fixtures/frozen-clock.ts';
import { authorize, redeem, refresh, refreshTokenOf, revoke, signIn, type TokenAnswer } from './client.ts';
import { type FaultyStore, faultyStore } from './faulty-store.ts';
import { type Replica, startReplica } from './provider.ts';

const WRITES = ['set', 'setIfAbsent', 'touch', 'createMap', 'setField', 'setFieldIfAbsent', 'deleteField'];
/** The call by which a refresh token is spent. */
const SPENDING = 'setFieldIfAbsent';
const HOUR_MS = 3_600_000;

describe('a store with faults', () => {
  let clock: FrozenClock;
  let store: FaultyStore;
  let replica: Replica;
  before(async () => {
    clock = frozenClock(Date.now());
    store = faultyStore(clock);
    replica = await startReplica({ store, clock });
  });
  after(async () => {
    await replica.stop();
    await store.close();
  });

  const assertTryAgain = ({ status, body, headers }: TokenAnswer): void => {
    assert.deepEqual([status, body['error']], [503, 'temporarily_unavailable']);
    assert.equal(headers.get('retry-after'), '1');
  };
  const works = async (token: string): Promise<string> => {
    const answer = await refresh(replica.url, token);
    assert.equal(answer.status, 200, answer.text);
    return refreshTokenOf(answer);
  };
  const signedIn = async (): Promise<string> => refreshTokenOf(await signIn(replica.url));
  const callsOf = async (work: () => Promise<unknown>): Promise<readonly string[]> => {
    store.calls();
    await work();
    return store.calls();
  };

  test('that is away answers no client with a refusal, and everybody goes on when it is back', async () => {
    const token = await signedIn();
    const { code } = await authorize(replica.url);
    store.goAway();
    assertTryAgain(await refresh(replica.url, token));
    assertTryAgain(await redeem(replica.url, code));
    assertTryAgain(await revoke(replica.url, token));
    await assert.rejects(authorize(replica.url), /error=temporarily_unavailable/);
    store.comeBack();
    assert.equal((await redeem(replica.url, code)).status, 200);
    await works(await works(token));
  });

  /** What a refresh asks of the store; one of the calls spends the token. */
  const callsOfRefresh = async (): Promise<readonly string[]> => {
    const token = await signedIn();
    const calls = await callsOf(() => works(token));
    assert.equal(calls.filter((call) => call === SPENDING).length, 1);
    return calls;
  };

  test('that fails at any one call of a refresh logs nobody out', async () => {
    const calls = await callsOfRefresh();
    for (const how of ['not executed', 'answer lost'] as const) {
      for (const at of calls.keys()) {
        const token = await signedIn();
        store.failAfter(at, how);
        const interrupted = await refresh(replica.url, token);
        if (interrupted.status !== 200) assertTryAgain(interrupted);
        const again = await works(token);
        if (interrupted.status === 200) assert.equal(again, refreshTokenOf(interrupted));
        await works(await works(again));
      }
    }
  });

  test('that fails before a refresh token is spent leaves it as it was, for longer than any window', async () => {
    const calls = await callsOfRefresh();
    for (let at = 0; at <= calls.indexOf(SPENDING); at += 1) {
      const token = await signedIn();
      store.failAfter(at, 'not executed');
      assertTryAgain(await refresh(replica.url, token));
      clock.advance(HOUR_MS);
      await works(await works(token));
    }
  });

  test('that fails at any one call of the exchange of a code lets the client present the code again', async () => {
    const exchange = async (): Promise<readonly string[]> => {
      const { code } = await authorize(replica.url);
      return callsOf(() => redeem(replica.url, code));
    };
    for (const how of ['not executed', 'answer lost'] as const) {
      for (const at of (await exchange()).keys()) {
        const { code } = await authorize(replica.url);
        store.failAfter(at, how);
        const interrupted = await redeem(replica.url, code);
        if (interrupted.status !== 200) assertTryAgain(interrupted);
        const answer = interrupted.status === 200 ? interrupted : await redeem(replica.url, code);
        await works(refreshTokenOf(answer));
        assert.equal((await redeem(replica.url, code)).body['error'], 'invalid_grant', 'it gives tokens once');
        assert.equal((await refresh(replica.url, refreshTokenOf(answer))).body['error'], 'invalid_grant');
      }
    }
  });

  test('that is slow gets no token to a user whose access was ended after it had been asked about', async () => {
    const token = refreshTokenOf(await signIn(replica.url, { user: 'heidi' }));
    const calls = await callsOfRefresh();
    const held = store.holdAfter(calls.indexOf('get', calls.indexOf('get') + 1));
    const answer = refresh(replica.url, token);
    const goOn = await held;
    await markRevoked(store, 'heidi', clock.now());
    goOn();
    assert.equal((await answer).body['error'], 'invalid_grant');
  });

  test('is asked once for a refresh token that was never issued, and not at all for other texts', async () => {
    const token = await signedIn();
    const forged = 'x'.repeat(token.length);
    assert.deepEqual(await callsOf(() => refresh(replica.url, forged)), ['readMap']);
    for (const text of ['x', 'x'.repeat(5_000)]) assert.deepEqual(await callsOf(() => refresh(replica.url, text)), []);
  });

  test('is not written to for a refresh token of another client, spent or not', async () => {
    const token = await signedIn();
    const asked = async (): Promise<void> => {
      const calls = await callsOf(() => refresh(replica.url, token, { client: 'second' }));
      assert.deepEqual(
        calls.filter((call) => WRITES.includes(call)),
        [],
      );
      assert.ok(calls.length <= 3, calls.join(' '));
    };
    await asked();
    const next = await works(token);
    await asked();
    clock.advance(HOUR_MS);
    await asked();
    await works(next);
  });

  test('that was away starts the window anew: no client could come back before', async () => {
    const token = await signedIn();
    const next = await works(token);
    store.goAway();
    clock.advance(60_000);
    store.comeBack();
    clock.advance(10_000);
    assert.equal(await works(token), next);
    clock.advance(5_001);
    assert.equal((await refresh(replica.url, token)).status, 400);
  });

  test('that holds one replica up for a minute gets two clients of one token one successor', async (context) => {
    const other = await startReplica({ store, clock });
    context.after(() => other.stop());
    const token = await signedIn();
    const held = store.holdAfter((await callsOfRefresh()).indexOf(SPENDING));
    const slow = refresh(replica.url, token);
    const goOn = await held;
    const quick = await refresh(other.url, token);
    assert.equal(quick.status, 200, quick.text);
    clock.advance(60_000);
    goOn();
    assert.equal(refreshTokenOf(await slow), refreshTokenOf(quick));
    await works(refreshTokenOf(quick));
  });
});
