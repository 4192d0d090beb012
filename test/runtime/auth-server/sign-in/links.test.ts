import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { beforeEach, describe, test } from 'node:test';
import { sealerFor } from '../../../../runtime/auth-server/keys/sealer.ts';
import { KNOWN_MS, KnownUsers } from '../../../../runtime/auth-server/sign-in/known-users.ts';
import { LINK_MS, Links } from '../../../../runtime/auth-server/sign-in/links.ts';
import { openStore } from '../../../../runtime/store/index.ts';
import { type FrozenClock, frozenClock } from '../../../fixtures/frozen-clock.ts';
import { silentLog } from '../../../fixtures/runtime.ts';
import { hasCode } from '../../store/has-code.ts';

const ISSUER = 'https://vmcp.example';

describe('what a sign-in beside a login is bound to', () => {
  const secret = randomBytes(32);
  let clock: FrozenClock;
  let parts: ConstructorParameters<typeof Links>[0];
  let endedAt: number;
  const sealerBy = (by: Buffer) =>
    sealerFor('links', { secrets: async () => [by], boundTo: () => ISSUER, clock, entropy: randomBytes });
  beforeEach(() => {
    clock = frozenClock();
    const store = openStore({ kind: 'memory' }, { clock, log: silentLog } as never);
    const sealer = sealerBy(secret);
    endedAt = -Infinity;
    const isEnded = async (user: string, atMs: number): Promise<boolean> => user === 'corp|alice' && atMs <= endedAt;
    parts = { store, sealer, entropy: randomBytes, clock, issuer: ISSUER, isEnded };
  });

  test('a link opens for ten minutes, and tells nobody whose it is', async () => {
    const links = new Links(parts);
    const text = await links.make('corp|alice', 'github');
    const bytes = Buffer.from(text, 'base64url').toString('latin1');
    assert.ok(!bytes.includes('alice') && !bytes.includes('github'));
    const { user, provider } = (await links.open(text)) ?? {};
    assert.deepEqual([user, provider], ['corp|alice', 'github']);
    clock.advance(LINK_MS - 1);
    assert.ok(await links.open(text));
    clock.advance(1);
    assert.equal(await links.open(text), undefined);
  });

  test('a link is used once, whoever is fastest', async () => {
    const links = new Links(parts);
    const link = await links.open(await links.make('corp|alice', 'github'));
    assert.ok(link);
    assert.equal(await links.isUsed(link), false);
    const uses = await Promise.all([links.use(link), links.use(link)]);
    assert.equal(uses.filter(Boolean).length, 1);
    assert.equal(await links.isUsed(link), true);
  });

  test('no other text is a link: changed, cut, of another issuer or secret, or endless', async () => {
    const links = new Links(parts);
    const text = await links.make('corp|alice', 'github');
    const changed = `${text.slice(0, 40)}${text[40] === 'A' ? 'B' : 'A'}${text.slice(41)}`;
    for (const other of [changed, text.slice(0, -4), '', 'x', 'A'.repeat(100_000)])
      assert.equal(await links.open(other), undefined);
    assert.equal(await new Links({ ...parts, issuer: 'https://other.example' }).open(text), undefined);
    const foreign = new Links({ ...parts, sealer: sealerBy(randomBytes(32)) });
    // The secret may still be on its way to this replica.
    await assert.rejects(foreign.open(text), hasCode('issuer_unavailable'));
    clock.advance(4 * 60_000);
    assert.equal(await foreign.open(text), undefined);
  });

  test('a browser is known for a quarter of an hour after the sign-in, by a secret that is made then', async () => {
    const known = new KnownUsers({ ...parts, base: ISSUER });
    const setting = await known.remember({ user: 'corp|alice', name: 'Alice' });
    assert.match(setting, /^__Host-vmcp-user-[0-9a-f]{8}=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/);
    const planted = `${setting.split('=')[0]}=${'A'.repeat(43)}`;
    assert.equal(await known.who(planted), undefined);
    const cookie = `a=b; ${setting.split(';')[0]}`;
    assert.equal((await known.who(cookie))?.user, 'corp|alice');
    clock.advance(KNOWN_MS - 1);
    assert.equal((await known.who(cookie))?.user, 'corp|alice');
    clock.advance(1);
    assert.equal(await known.who(cookie), undefined);
  });

  test('where a user is switched off, links and browsers of before are theirs no more', async () => {
    const links = new Links(parts);
    const known = new KnownUsers({ ...parts, base: ISSUER });
    const link = await links.make('corp|alice', 'github');
    const [cookie = ''] = (await known.remember({ user: 'corp|alice' })).split(';');
    endedAt = clock.now();
    assert.equal(await links.open(link), undefined);
    assert.equal(await known.who(cookie), undefined);
    clock.advance(1);
    assert.ok(await links.open(await links.make('corp|alice', 'github')));
  });

  test('a browser that has signed out is not known', async () => {
    const known = new KnownUsers({ ...parts, base: 'http://127.0.0.1' });
    const [cookie = ''] = (await known.remember({ user: 'corp|alice' })).split(';');
    await known.forget(cookie);
    assert.equal(await known.who(cookie), undefined);
  });
});
