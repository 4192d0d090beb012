import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { TokenVault, VaultDeps } from '../../../../runtime/auth-server/vault/vault.ts';
import type { Store } from '../../../../runtime/store/store.ts';
import { noRedis, startRedis, type TestRedis } from '../../../fixtures/redis.ts';
import { onRedis } from '../../store/stores.ts';
import { hasCode } from '../../store/has-code.ts';
import { startTokenIssuer, type TokenIssuer, USE } from './token-issuer.ts';
import { accountOf, HOUR_MS, type SetClock, setClock, SECRET, signInAt, vaultOn, WEEK_MS } from './vaults.ts';

describe('what is at rest', { skip: noRedis }, () => {
  const clock: SetClock = setClock();
  let redis: TestRedis;
  let store: Store;
  let issuer: TokenIssuer;
  let vault: TokenVault;
  const vaultWith = (more: Partial<VaultDeps> = {}): TokenVault => vaultOn(store, issuer, { clock, ...more });

  before(async () => {
    redis = await startRedis({ lines: ['rdbcompression no', 'dbfilename all.rdb'] });
    store = onRedis([redis.address]).store;
    await store.firstAnswer;
    issuer = await startTokenIssuer(clock.now);
    vault = vaultWith();
  });
  after(async () => {
    await store.close();
    await redis.stop();
    await issuer.close();
  });

  const signIn = async (user: string, tokens = issuer.signIn(user)) => {
    await signInAt(vault, accountOf(user), tokens);
    return { of: accountOf(user), token: tokens.accessToken };
  };
  const keys = async (): Promise<readonly string[]> => (await redis.command('KEYS', '*')).split('\n').filter(Boolean);

  test('a dump holds no token, no secret, and no name or claim of a user', async () => {
    const dumps: Buffer[] = [];
    const dump = async (): Promise<void> => {
      await redis.command('SAVE');
      const [, folder = ''] = (await redis.command('CONFIG', 'GET', 'dir')).split('\n');
      dumps.push(await readFile(join(folder, 'all.rdb')));
    };
    for (const user of ['alice', 'bob', 'carol']) {
      const { of, token } = await signIn(user);
      await dump();
      await vault.claims(of);
      await vault.accessToken(of, { ...USE, refused: token });
      issuer.beforeAnswer = dump;
      clock.advance(HOUR_MS);
      await vault.accessToken(of, USE);
      issuer.beforeAnswer = undefined;
      if (user === 'bob') await vault.remove(of.user, 'corp');
      await dump();
    }
    assert.ok(dumps.length >= 9 && dumps.every((each) => each.includes('accounts:')), 'they are dumps of this store');
    assert.ok(
      dumps.some((each) => each.includes('refresh:')),
      'also of moments in the middle of a refresh',
    );
    assert.ok(issuer.issued.length >= 18);
    const secrets = [...issuer.issued, 'alice', 'bob', 'carol', 'Name of', 'origin-1', SECRET];
    for (const secret of secrets)
      for (const form of [secret, Buffer.from(secret).toString('base64'), Buffer.from(secret).toString('hex')])
        for (const each of dumps) assert.ok(!each.includes(form), String(secret));
  });

  test('a record that is put into the place of another user or provider opens as nothing', async () => {
    const victim = await signIn('victim');
    const thief = await signIn('thief');
    const [ofVictim, ofThief] = [await keyOf(victim.of), await keyOf(thief.of)];
    const sealed = (await store.readMap(ofVictim))?.get('corp') ?? assert.fail();
    const both = vaultWith({ upstream: () => issuer.upstream });
    for (const [key, provider] of [
      [ofThief, 'corp'],
      [ofThief, 'other'],
      [ofVictim, 'other'],
    ] as const) {
      await store.setField(key, provider, sealed);
      const { user } = key === ofThief ? thief.of : victim.of;
      assert.equal(await both.accessToken({ user, provider }, USE), undefined, `${user} ${provider}`);
    }
    assert.deepEqual(await both.linked(thief.of.user), []);
    assert.equal((await both.linked(victim.of.user)).length, 1);
    const { token } = await signIn('thief');
    assert.equal(await both.accessToken(thief.of, USE), token, 'and a sign-in mends it');
    await both.remove(victim.of.user, 'other');
    assert.equal((await store.readMap(ofVictim))?.size, 1, 'what cannot be opened can be removed');
  });

  /** The key of this account, found by what changes when it is used: its life. */
  const keyOf = async ({ user }: { readonly user: string }): Promise<string> => {
    for (const key of await keys()) if (key.includes('accounts:')) await redis.command('PEXPIRE', key, '5000000');
    await vault.accessToken({ user, provider: 'corp' }, USE);
    for (const key of await keys())
      if (key.includes('accounts:') && Number(await redis.command('PTTL', key)) > 5_000_000) return withoutPrefix(key);
    return assert.fail('no account was used');
  };
  const withoutPrefix = (key = ''): string => key.replace(/^test:/, '');

  test('an account lives as long as a refresh token, from its last use on', async () => {
    const { of } = await signIn('dave');
    const key = await keyOf(of);
    const lifeMs = async (): Promise<number> => Number(await redis.command('PTTL', `test:${key}`));
    assert.ok((await lifeMs()) > WEEK_MS - 60_000 && (await lifeMs()) <= WEEK_MS);
    await redis.command('PEXPIRE', `test:${key}`, '5000');
    await vault.linked(of.user);
    assert.ok((await lifeMs()) <= 5_000, 'to look at it is no use');
    await vault.accessToken(of, USE);
    assert.ok((await lifeMs()) > WEEK_MS - 60_000);
  });

  test('after a rotation of the secrets it is read, sealed anew, and then needs the earlier one no longer', async () => {
    const { of, token } = await signIn('erin');
    const [older, newer] = [SECRET, Buffer.alloc(32, 'n')];
    const under = (...secrets: readonly Buffer[]) => vaultWith({ secrets: async () => secrets });
    // The secret may be on its way to this replica.
    await assert.rejects(under(newer).accessToken(of, USE), hasCode('credential_unavailable'));
    assert.equal(await under(newer, older).accessToken(of, USE), token);
    assert.equal(await under(newer).accessToken(of, USE), token);
    assert.equal(await under(older, newer).accessToken(of, USE), token, 'also back');
    assert.equal(await under(older).accessToken(of, USE), token);
    clock.advance(HOUR_MS);
    const concurrent = [under(newer, older), under(older, newer), under(newer, older)];
    const got = await Promise.all(concurrent.map((each) => each.accessToken(of, USE)));
    assert.equal(new Set(got).size, 1);
    assert.equal(issuer.refreshes.get('erin'), 1);
  });
});
