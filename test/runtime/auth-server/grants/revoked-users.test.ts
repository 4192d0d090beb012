import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { markRevoked } from '../../../../runtime/auth-server/grants/revoked-users.ts';
import { systemClock } from '../../../../runtime/process/index.ts';
import { memoryStore } from '../../../../runtime/store/memory-store.ts';
import { authorize, redeem, refresh, refreshTokenOf, signIn } from './client.ts';
import { startReplica } from './provider.ts';
import { onTwoReplicas } from './two-replicas.ts';

onTwoReplicas('switching a user off', (replicas) => {
  const switchOff = async (user: string): Promise<void> => {
    const { store, clock } = replicas();
    await markRevoked(store, user, clock.now());
    clock.advance(1);
  };

  test('ends all grants, however often they were refreshed, and those of nobody else', async () => {
    const { a, b } = replicas();
    const [first, second] = [await signIn(a, { user: 'carol' }), await signIn(b, { user: 'carol' })];
    const renewed = await refresh(b, refreshTokenOf(second));
    const other = await signIn(a, { user: 'dave' });
    await switchOff('carol');
    for (const answer of [first, second, renewed])
      assert.equal((await refresh(a, refreshTokenOf(answer))).body['error'], 'invalid_grant');
    assert.equal((await refresh(b, refreshTokenOf(other))).status, 200);
  });

  test('ends codes that are not redeemed yet', async () => {
    const { a, b } = replicas();
    const { code } = await authorize(a, { user: 'erin' });
    await switchOff('erin');
    assert.equal((await redeem(b, code)).body['error'], 'invalid_grant');
  });

  test('ends nothing that is granted later', async () => {
    const { a, b } = replicas();
    await switchOff('frank');
    const answer = await signIn(a, { user: 'frank' });
    assert.equal((await refresh(b, refreshTokenOf(answer))).status, 200);
  });
});

describe('a user who is switched off', () => {
  test('keeps no session: whoever has its cookie signs in anew', async (context) => {
    const store = memoryStore({ clock: systemClock });
    context.after(() => store.close());
    const running = await startReplica({ store, clock: systemClock });
    context.after(() => running.stop());
    const { cookies } = await authorize(running.url, { user: 'niaj' });
    const session = await running.provider.Session.find(cookies.get('_session') ?? '');
    assert.equal(session?.accountId, 'niaj');
    assert.equal((await running.provider.Session.findByUid(session?.uid ?? ''))?.accountId, 'niaj');
    await markRevoked(store, 'niaj', Date.now());
    assert.equal(await running.provider.Session.find(cookies.get('_session') ?? ''), undefined);
    assert.equal(await running.provider.Session.findByUid(session?.uid ?? ''), undefined);
  });
});
