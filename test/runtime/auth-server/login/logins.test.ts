import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test, type TestContext } from 'node:test';
import { sealerFor } from '../../../../runtime/auth-server/keys/sealer.ts';
import { Logins } from '../../../../runtime/auth-server/login/logins.ts';
import { memoryStore } from '../../../../runtime/store/memory-store.ts';
import { frozenClock } from '../../../fixtures/frozen-clock.ts';

const BROWSER = 'the secret of a browser';
const MOST = 200;

/** Logins in a store that has little room for each. */
const given = (context: TestContext): Logins => {
  const clock = frozenClock();
  const store = memoryStore({ clock }, { entries: 1_000, bytes: MOST * 2 * 1024 });
  context.after(() => store.close());
  const secrets = async () => [Buffer.alloc(32, 'a secret')];
  const sealer = sealerFor('logins', { secrets, boundTo: () => 'https://as.example', clock, entropy: randomBytes });
  return new Logins({ store, sealer, entropy: randomBytes, clock, ttlMs: 60_000, mostLogins: MOST });
};

test('a browser that goes to a provider again and again takes no more room, and comes back from there', async (t) => {
  const logins = given(t);
  const login = await logins.open({ kind: 'client', interaction: 'i', asked: [] }, BROWSER);
  const first = await logins.newRequest(login, 'corp');
  for (let times = 0; times < 2_000; times += 1) await logins.newRequest(login, 'corp');
  const [corp, hub] = [await logins.newRequest(login, 'corp'), await logins.newRequest(login, 'hub')];
  assert.equal(await logins.takeRequest(login, first.state), undefined, 'it has left again since');
  assert.deepEqual(await logins.takeRequest(login, corp.state), { provider: 'corp', request: corp });
  assert.equal(await logins.takeRequest(login, corp.state), undefined, 'once');
  assert.deepEqual(await logins.takeRequest(login, hub.state), { provider: 'hub', request: hub });
});

test('of answers with one state that come at the same time, one counts', async (t) => {
  const logins = given(t);
  const login = await logins.open({ kind: 'client', interaction: 'i', asked: [] }, BROWSER);
  const { state } = await logins.newRequest(login, 'corp');
  const arrived = await Promise.all([1, 2, 3].map(() => logins.takeRequest(login, state)));
  assert.equal(arrived.filter((each) => each !== undefined).length, 1);
  assert.equal(await logins.takeRequest(login, `${state}x`), undefined);
});

test('a user who signs in again and again, and never decides, keeps nobody else from signing in', async (t) => {
  const logins = given(t);
  const begin = () => logins.open({ kind: 'client', interaction: 'i', asked: [] }, BROWSER);
  const other = await logins.finish(await begin(), 'corp', { user: 'corp|other' });
  for (let times = 0; times < 2 * MOST; times += 1) await logins.finish(await begin(), 'corp', { user: 'corp|one' });
  const newest = await begin();
  for (const { id } of [other, newest]) assert.ok(await logins.read(id, BROWSER));
});
