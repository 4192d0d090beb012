import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Store } from '../../../../runtime/store/index.ts';
import { memoryStore } from '../../../../runtime/store/memory-store.ts';
import { frozenClock } from '../../../fixtures/frozen-clock.ts';
import { refresh, refreshTokenOf, signIn } from './client.ts';
import { startReplica } from './provider.ts';

test('an answer that the store has lost within the window is waited for, and ends no family', async (context) => {
  const clock = frozenClock(Date.now());
  const kept = memoryStore({ clock });
  const answers: string[] = [];
  const set: Store['set'] = async (key, ...how) => {
    if (key.startsWith('answer:')) answers.push(key);
    return kept.set(key, ...how);
  };
  const replica = await startReplica({ store: { ...kept, set }, clock });
  context.after(async () => {
    await replica.stop();
    await kept.close();
  });
  const first = refreshTokenOf(await signIn(replica.url));
  const second = refreshTokenOf(await refresh(replica.url, first));
  assert.ok(answers.length > 0);
  for (const key of answers) await kept.delete(key);
  clock.advance(50);
  const again = await refresh(replica.url, first);
  assert.deepEqual([again.status, again.body['error']], [503, 'temporarily_unavailable']);
  assert.equal((await refresh(replica.url, second)).status, 200);
});
