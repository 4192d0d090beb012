import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { sealerFor } from '../../../../runtime/auth-server/keys/sealer.ts';
import { storedRegistrations } from '../../../../runtime/auth-server/upstreams/index.ts';
import { memoryStore } from '../../../../runtime/store/memory-store.ts';
import { frozenClock } from '../../../fixtures/frozen-clock.ts';
import { hasCode } from '../../store/has-code.ts';

const TEXT = Buffer.from('a text');
const [old, newer] = [randomBytes(32), randomBytes(32)];

const given = () => {
  const clock = frozenClock();
  const by = (secrets: readonly Buffer[], { boundTo = 'https://as.example', purpose = 'logins' } = {}) =>
    sealerFor(purpose, { secrets: async () => secrets, boundTo: () => boundTo, clock, entropy: randomBytes });
  return { clock, by };
};

test('what was sealed with a secret that is on its way to this replica is waited for, and later is nothing', async () => {
  const { clock, by } = given();
  const sealed = await by([newer, old]).seal(TEXT, 'a');
  const behind = by([old]);
  await assert.rejects(behind.unseal(sealed, 'a'), hasCode('issuer_unavailable'));
  assert.deepEqual(await by([old, newer]).unseal(sealed, 'a'), TEXT);
  clock.advance(4 * 60_000);
  assert.equal(await behind.unseal(sealed, 'a'), undefined);
});

test('what was sealed for another issuer, another first provider or another purpose is nothing', async () => {
  const { by } = given();
  const sealed = await by([old]).seal(TEXT, 'a');
  assert.equal(await by([old], { boundTo: 'https://other.example' }).unseal(sealed, 'a'), undefined);
  assert.equal(await by([old]).unseal(sealed, 'b'), undefined);
  const other = by([old], { purpose: 'links' }).unseal(sealed, 'a');
  assert.equal(await other.catch(() => undefined), undefined);
});

test('a client that another replica has registered under a newer secret is not registered once more', async () => {
  const { clock, by } = given();
  const store = memoryStore({ clock });
  const at = (...secrets: readonly Buffer[]) => storedRegistrations(store, by(secrets));
  const client = { id: 'client-1', method: 'none' };
  await at(newer, old).setIfAbsent('key', client);
  await assert.rejects(at(old).get('key'), hasCode('issuer_unavailable'));
  await assert.rejects(at(old).setIfAbsent('key', { ...client, id: 'client-2' }), hasCode('issuer_unavailable'));
  assert.deepEqual(await at(newer, old).get('key'), client);
  await store.close();
});
