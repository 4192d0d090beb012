import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type SignInEvents, signInEvents } from '../../../../runtime/auth-server/sign-in/sign-in-events.ts';
import type { Store } from '../../../../runtime/store/index.ts';
import { until } from '../../../cluster/until.ts';
import { noRedis, startRedis, type TestRedis } from '../../../fixtures/redis.ts';
import { silentLog } from '../../../fixtures/runtime.ts';
import { onRedis } from '../../store/stores.ts';

describe('that a user has signed in', { skip: noRedis }, () => {
  const OF = { user: 'corp|alice', provider: 'github' };
  let redis: TestRedis;
  let stores: readonly Store[];
  let here: SignInEvents;
  let there: SignInEvents;
  before(async () => {
    redis = await startRedis();
    stores = [1, 2].map(() => onRedis([redis.address], {}).store);
    const [first, second] = stores.map((store) => signInEvents(store, silentLog));
    assert.ok(first && second);
    [here, there] = [first, second];
  });
  after(async () => {
    here.close();
    there.close();
    await Promise.all(stores.map((store) => store.close()));
    await redis.stop();
  });

  test('is heard at each replica by those who wait for this user and this provider, until they end it', async () => {
    const heard: string[] = [];
    const waits = [
      here.onSignedIn(OF, () => void heard.push('here')),
      there.onSignedIn(OF, () => void heard.push('there')),
      there.onSignedIn({ ...OF, user: 'corp|bob' }, () => void heard.push('another user')),
      there.onSignedIn({ ...OF, provider: 'corp' }, () => void heard.push('another provider')),
    ];
    there.onSignedIn(OF, () => void heard.push('ended'))();
    await until('both replicas hear it', async () => {
      await here.announce(OF);
      return (heard.includes('here') && heard.includes('there')) || undefined;
    });
    assert.deepEqual(
      [...new Set(heard)].toSorted((a, b) => a.localeCompare(b)),
      ['here', 'there'],
    );
    for (const end of waits) end();
    heard.length = 0;
    await there.announce(OF);
    const last = Promise.withResolvers<void>();
    const end = here.onSignedIn({ ...OF, user: 'corp|carol' }, last.resolve);
    await there.announce({ ...OF, user: 'corp|carol' });
    await last.promise;
    end();
    assert.deepEqual(heard, []);
  });

  test('names nobody on the wire', async () => {
    const heard: string[] = [];
    const subscription = stores[0]?.subscribe('signed-in', (message) => void heard.push(message.toString()));
    await subscription?.isLive;
    await there.announce(OF);
    await until('it is on the wire', async () => heard[0]);
    subscription?.end();
    assert.match(heard.join(), /^[\w-]{43}$/);
  });
});
