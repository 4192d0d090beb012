import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { AdapterPayload } from 'oidc-provider';
import { families } from '../../../../runtime/auth-server/grants/families.ts';
import { records } from '../../../../runtime/auth-server/grants/records.ts';
import { handleOfGrant } from '../../../../runtime/auth-server/grants/refresh-token-id.ts';
import { sealer } from '../../../../runtime/auth-server/grants/sealed.ts';
import { memoryStore } from '../../../../runtime/store/memory-store.ts';
import { type FrozenClock, frozenClock } from '../../../fixtures/frozen-clock.ts';
import { hasCode } from '../../store/has-code.ts';
import { refresh, refreshTokenOf, signIn } from './client.ts';
import { ISSUER, SECRET, startReplica } from './provider.ts';

const MINUTES_10 = 600;

const given = (context: TestContext) => {
  const clock: FrozenClock = frozenClock();
  const store = memoryStore({ clock });
  context.after(() => store.close());
  return { clock, store, sealer: sealer({ secrets: async () => [SECRET], boundTo: () => ISSUER, clock }) };
};

/** How many of these can still be found. */
const found = async (ids: readonly string[], find: (id: string) => Promise<unknown>): Promise<number> => {
  const all = await Promise.all(ids.map(find));
  return all.filter((each) => each !== undefined).length;
};

const idsOf = (what: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, at) => `${what}-${at}`);

/** Begins logins of a client, one after the other; `from`: who asks. */
const beginnings = (context: TestContext) => {
  const deps = given(context);
  let sender = '';
  const { save, find, keepFor } = records({ ...deps, sender: () => sender });
  const begin = async (client: string, ids: readonly string[], from = ''): Promise<void> => {
    sender = from;
    for (const id of ids) {
      deps.clock.advance(1);
      await save('Interaction', id, { params: { client_id: client } }, MINUTES_10);
    }
  };
  return { begin, keepFor, find: (id: string) => find('Interaction', id) };
};

test('a client that begins logins in a loop displaces its own, and few of others', async (context) => {
  const { begin, find } = beginnings(context);
  const others = Array.from({ length: 40 }, (_, at) => `client-${at}`);
  for (const client of others) await begin(client, [`login-of-${client}`]);
  const flood = idsOf('flood', 1_000);
  await begin('loop', flood);
  const left = await found(flood, find);
  assert.ok(left <= 320 && left > 250, `${left}`);
  assert.notEqual(await find('flood-999'), undefined);
  const kept = await found(
    others.map((client) => `login-of-${client}`),
    find,
  );
  assert.ok(kept >= 30, `${kept} of ${others.length}`);
});

test('a network that begins logins in a loop, of any client, displaces few of other networks', async (context) => {
  const { begin, find } = beginnings(context);
  const others = Array.from({ length: 40 }, (_, at) => `192.0.2.${at}`);
  for (const address of others) await begin('victim', [`login-from-${address}`], address);
  await begin('victim', idsOf('flood', 700), '2001:db8:0:1::1');
  const kept = await found(
    others.map((address) => `login-from-${address}`),
    find,
  );
  assert.ok(kept >= 25, `${kept} of ${others.length}`);
});

test('a login whose user has signed in is displaced by no stranger, only by later ones of that user', async (t) => {
  const { begin, find, keepFor } = beginnings(t);
  await begin('victim', ['the-login']);
  await keepFor('alice', 'Interaction', 'the-login');
  await begin('victim', idsOf('flood', 700));
  assert.deepEqual((await find('the-login'))?.params, { client_id: 'victim' });
  for (const id of idsOf('own', 200)) {
    await begin('victim', [id]);
    await keepFor('alice', 'Interaction', id);
  }
  await begin('victim', idsOf('flood', 700));
  assert.equal(await find('the-login'), undefined);
});

test('a user has so many sessions and codes, of which the oldest go', async (context) => {
  const deps = given(context);
  const { save, find } = records(deps);
  for (const model of ['Session', 'AuthorizationCode']) {
    const [own, others] = [idsOf('own', 1_000), idsOf('other', 20)];
    for (const id of others) await save(model, id, { accountId: 'other' }, MINUTES_10);
    for (const id of own) {
      deps.clock.advance(1);
      await save(model, id, { accountId: 'victor' }, MINUTES_10);
    }
    const left = await found(own, (id) => find(model, id));
    assert.ok(left <= 128 && left > 64, `${left} of ${model}`);
    assert.equal(await found(others, (id) => find(model, id)), others.length);
  }
});

test('a user has so many grants: those that were never refreshed go, those in use stay', async (context) => {
  const deps = given(context);
  const all = families(deps);
  const read = (id: string) => all.read(handleOfGrant(id));
  const grant: AdapterPayload = { accountId: 'walter', clientId: 'first' };
  const used = idsOf('used', 200);
  for (const id of used) {
    await all.save(id, grant, MINUTES_10);
    const family = await read(id);
    assert.ok(family);
    await all.renew(family, { seconds: MINUTES_10, isInUse: true });
  }
  const idle = idsOf('idle', 3_000);
  for (const id of idle) {
    deps.clock.advance(1);
    await all.save(id, grant, MINUTES_10);
  }
  assert.equal(await found(used, read), used.length);
  const left = await found(idle, read);
  assert.ok(left <= 1_024 - 200 + 16 && left > 400, `${left}`);
});

test('grants in use beyond the bound are not displaced: no more are made', async (context) => {
  const deps = given(context);
  const all = families(deps);
  const make = async (): Promise<void> => {
    for (const id of idsOf('used', 3_000)) {
      await all.save(id, { accountId: 'walter' }, MINUTES_10);
      const family = await all.read(handleOfGrant(id));
      if (family) await all.renew(family, { seconds: MINUTES_10, isInUse: true });
    }
  };
  await assert.rejects(make(), hasCode('overloaded'));
});

test('a request that is too large is refused, and is not kept', async (context) => {
  const { save, find } = records(given(context));
  const params = { client_id: 'loop', state: 'x'.repeat(13_000) };
  await assert.rejects(save('Interaction', 'large', { params }, MINUTES_10), { error: 'invalid_request' });
  assert.equal(await find('Interaction', 'large'), undefined);
});

test('a family that is refreshed for a year takes no more room than after a day', async (context) => {
  const clock = frozenClock(Date.now());
  const store = memoryStore({ clock });
  const replica = await startReplica({ store, clock });
  context.after(async () => {
    await replica.stop();
    await store.close();
  });
  const first = await signIn(replica.url);
  const handle = refreshTokenOf(first).slice(0, 22);
  const read = async (): Promise<number> => {
    const family = await families({
      store,
      clock,
      sealer: sealer({ secrets: async () => [SECRET], boundTo: () => ISSUER, clock }),
    }).read(handle);
    return family?.fields.size ?? 0;
  };
  let token = refreshTokenOf(first);
  for (let day = 0; day < 365; day += 1) {
    clock.advance(24 * 3_600_000);
    token = refreshTokenOf(await refresh(replica.url, token));
  }
  assert.ok((await read()) <= 6, `${await read()} fields`);
});
