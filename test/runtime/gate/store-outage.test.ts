import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VmcpError } from '../../../runtime/errors.ts';
import { countDespiteOutage, takeDespiteOutage } from '../../../runtime/gate/store-outage.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';
import { hasCode } from '../store/has-code.ts';

const BUCKETS = [{ key: 'a', capacity: 1, refillPeriodMs: 1_000 }];

const given = (whenStoreUnavailable: 'local' | 'deny' | 'allow', code?: 'store_unavailable' | 'internal') => {
  const clock = frozenClock();
  const lines: unknown[] = [];
  const store = { code };
  const outages: string[] = [];
  const takeTokens = takeDespiteOutage({
    shared: async () => {
      if (store.code) throw new VmcpError(store.code, 'away', { detail: 'ECONNREFUSED' });
      return { waitMs: 7, emptyAt: 0 };
    },
    local: async () => ({ waitMs: 11, emptyAt: 0 }),
    whenStoreUnavailable: () => whenStoreUnavailable,
    onOutage: (policy) => void outages.push(policy),
    log: { warn: (fields, message) => void lines.push([fields, message]) },
    now: clock.now,
  });
  const take = async (buckets: typeof BUCKETS): Promise<number> => (await takeTokens(buckets)).waitMs;
  return { take, lines, clock, store, outages };
};

test('a store that answers is asked, and nothing is logged', async () => {
  for (const setting of ['local', 'deny', 'allow'] as const) {
    const { take, lines, outages } = given(setting);
    assert.equal(await take(BUCKETS), 7);
    assert.deepEqual([lines, outages], [[], []]);
  }
});

test('without the store, limits do as the setting says', async () => {
  assert.equal(await given('local', 'store_unavailable').take(BUCKETS), 11);
  assert.equal(await given('allow', 'store_unavailable').take(BUCKETS), 0);
  await assert.rejects(async () => given('deny', 'store_unavailable').take(BUCKETS), hasCode('store_unavailable'));
});

test('any other error refuses the call, whatever the setting', async () => {
  for (const setting of ['local', 'deny', 'allow'] as const)
    await assert.rejects(async () => given(setting, 'internal').take(BUCKETS), hasCode('internal'));
});

test('an outage is logged once a minute, with the number of calls, and each call is counted', async () => {
  const { take, lines, clock, outages } = given('allow', 'store_unavailable');
  for (let at = 0; at < 5; at += 1) await take(BUCKETS);
  clock.advance(60_000);
  await take(BUCKETS);
  const fields = { whenStoreUnavailable: 'allow', detail: 'ECONNREFUSED' };
  assert.deepEqual(lines, [
    [{ count: 1, ...fields }, 'rate limits without their store'],
    [{ count: 5, ...fields }, 'rate limits without their store'],
  ]);
  assert.deepEqual(
    outages,
    Array.from({ length: 6 }, () => 'allow'),
  );
});

test('the store counts again as soon as it answers', async () => {
  const { take, store } = given('local', 'store_unavailable');
  assert.equal(await take(BUCKETS), 11);
  store.code = undefined;
  assert.equal(await take(BUCKETS), 7);
});

test('tokens are counted where they would be taken', async () => {
  const counted = (whenStoreUnavailable: 'local' | 'deny' | 'allow', code?: 'store_unavailable' | 'internal') =>
    countDespiteOutage({
      shared: async () => {
        if (code) throw new VmcpError(code, 'away');
        return [{ available: 1, waitMs: 0 }];
      },
      local: async () => [{ available: 0, waitMs: 5 }],
      whenStoreUnavailable: () => whenStoreUnavailable,
    })(BUCKETS);
  assert.deepEqual(await counted('deny'), { counts: [{ available: 1, waitMs: 0 }] });
  assert.deepEqual(await counted('local', 'store_unavailable'), {
    outage: 'local',
    counts: [{ available: 0, waitMs: 5 }],
  });
  assert.deepEqual(await counted('allow', 'store_unavailable'), { outage: 'allow', counts: [] });
  await assert.rejects(counted('deny', 'store_unavailable'), hasCode('store_unavailable'));
  await assert.rejects(counted('allow', 'internal'), hasCode('internal'));
});
