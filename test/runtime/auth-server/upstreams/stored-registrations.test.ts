import assert from 'node:assert/strict';
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { type Sealer, storedRegistrations } from '../../../../runtime/auth-server/upstreams/index.ts';
import { memoryStore } from '../../../../runtime/store/memory-store.ts';
import { frozenClock } from '../../../fixtures/frozen-clock.ts';

/** The first key seals, each opens. */
const sealerBy = (...keys: readonly Buffer[]): Sealer => ({
  seal: async (text, as) => {
    const nonce = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', keys[0] ?? assert.fail(), nonce).setAAD(Buffer.from(as));
    return Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()]);
  },
  unseal: async (sealed, as) => {
    for (const key of keys) {
      const cipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12), { authTagLength: 16 });
      cipher.setAAD(Buffer.from(as)).setAuthTag(sealed.subarray(-16));
      try {
        return Buffer.concat([cipher.update(sealed.subarray(12, -16)), cipher.final()]);
      } catch {
        // Another key may open it.
      }
    }
    return undefined;
  },
});

const CLIENT = { id: 'client-1', secret: 'the-client-secret', method: 'client_secret_basic' };
const DAY_MS = 24 * 3_600_000;
const [old, current] = [randomBytes(32), randomBytes(32)];

test('the first client that is kept is that of all; only that very one is removed', async () => {
  const registrations = storedRegistrations(memoryStore({ clock: frozenClock() }), sealerBy(current));
  assert.equal(await registrations.get('key'), undefined);
  assert.deepEqual(await registrations.setIfAbsent('key', CLIENT), CLIENT);
  const other = { ...CLIENT, id: 'client-2' };
  assert.deepEqual(await registrations.setIfAbsent('key', other), CLIENT);
  await registrations.remove('key', other);
  assert.deepEqual(await registrations.get('key'), CLIENT);
  await registrations.remove('key', CLIENT);
  assert.equal(await registrations.get('key'), undefined);
});

test('the store holds no secret in clear, and no client opens under another key of the store', async () => {
  const store = memoryStore({ clock: frozenClock() });
  const registrations = storedRegistrations(store, sealerBy(current));
  await registrations.setIfAbsent('key', CLIENT);
  const kept = (await store.get('key')) ?? assert.fail();
  assert.ok(!kept.includes(CLIENT.secret) && !kept.includes(CLIENT.id));
  await store.set('other', kept, DAY_MS);
  assert.equal(await registrations.get('other'), undefined);
});

test('a client that is read outlives its time and the key that sealed it', async () => {
  const clock = frozenClock();
  const store = memoryStore({ clock });
  await storedRegistrations(store, sealerBy(old)).setIfAbsent('key', CLIENT);
  clock.advance(300 * DAY_MS);
  await storedRegistrations(store, sealerBy(current, old)).get('key');
  clock.advance(300 * DAY_MS);
  assert.deepEqual(await storedRegistrations(store, sealerBy(current)).get('key'), CLIENT);
});

test('a client that no key opens here stays for replicas that have its key, until another one is kept', async () => {
  const store = memoryStore({ clock: frozenClock() });
  await storedRegistrations(store, sealerBy(old)).setIfAbsent('key', CLIENT);
  const registrations = storedRegistrations(store, sealerBy(current));
  assert.equal(await registrations.get('key'), undefined);
  assert.deepEqual(await storedRegistrations(store, sealerBy(old)).get('key'), CLIENT);
  const newer = { ...CLIENT, id: 'client-2' };
  assert.deepEqual(await registrations.setIfAbsent('key', newer), newer);
  assert.deepEqual(await registrations.get('key'), newer);
});
