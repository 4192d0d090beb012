import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Adapter } from 'oidc-provider';
import { openGrants } from '../../../../runtime/auth-server/grants/grants.ts';
import { memoryStore } from '../../../../runtime/store/memory-store.ts';
import { frozenClock } from '../../../fixtures/frozen-clock.ts';
import { ISSUER, SECRET } from './provider.ts';

const adaptersOf = (context: TestContext): ((model: string) => Adapter) => {
  const clock = frozenClock();
  const store = memoryStore({ clock });
  context.after(() => store.close());
  const { adapter } = openGrants({
    store,
    clock,
    secrets: async () => [SECRET],
    boundTo: () => ISSUER,
    findClient: async () => undefined,
    refreshReuseWindowMs: 0,
    reach: { reachedAtMs: () => 0 },
  });
  return (model) => {
    assert.ok(typeof adapter === 'function');
    return adapter(model);
  };
};

const RECORD = { iat: 1_767_225_600, accountId: 'corp|alice' };

test('a record of any kind that is consumed is found as consumed, and no other one', async (context) => {
  const adapterOf = adaptersOf(context);
  for (const model of ['DeviceCode', 'PushedAuthorizationRequest']) {
    const adapter = adapterOf(model);
    for (const id of ['one', 'other']) await adapter.upsert(id, RECORD, 600);
    await adapter.consume('one');
    await adapter.consume('one');
    assert.equal((await adapter.find('one'))?.consumed, RECORD.iat);
    assert.equal((await adapter.find('other'))?.consumed, undefined);
    await adapter.consume('none');
    assert.equal(await adapter.find('none'), undefined);
  }
});

test('a code is consumed by the request that redeems it, and by nothing else', async (context) => {
  const codes = adaptersOf(context)('AuthorizationCode');
  await codes.upsert('a code', RECORD, 600);
  await assert.rejects(codes.consume('a code'), TypeError);
  assert.equal((await codes.find('a code'))?.consumed, undefined);
});
