import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { scratchFolder } from '../../cluster/scratch.ts';
import { until } from '../../cluster/until.ts';
import { startAuthServer } from '../../fixtures/auth-server.ts';
import { noCertificates } from '../../fixtures/certificates.ts';
import { openSession } from '../../fixtures/raw-client.ts';
import { noRedis, startRedis } from '../../fixtures/redis.ts';
import { revokeUser } from '../../fixtures/revoke-user.ts';
import { startRuntime } from '../../fixtures/runtime.ts';
import { codeIn, REDIRECT, registerClient, textIn } from '../../fixtures/signing-in.ts';

const skip = noCertificates === false ? noRedis : noCertificates;
const PASSWORD = 'of-a-test';

describe('a user of the authorization server whose access is ended', { skip }, () => {
  test('loses tokens, sessions and accounts at every replica within a second', { timeout: 60_000 }, async (t) => {
    const redis = await startRedis({ password: PASSWORD });
    t.after(redis.stop);
    const folder = await scratchFolder('user-revocation');
    t.after(folder.remove);
    const passwordFile = join(folder.path, 'password');
    await writeFile(passwordFile, PASSWORD);
    const kvstore = { addr: redis.address, aclUserConfig: { passwordFile } };
    const gateway = await startAuthServer({ authServer: { storage: { type: 'kvstore', kvstore } } });
    t.after(gateway.stop);
    const there = await startRuntime(
      gateway.file(),
      {},
      {
        featureDeps: (deps) => ({
          ...deps,
          fetchUnder: (policy) => deps.fetchUnder(policy, { caBundlePath: gateway.certificates.caFile }),
        }),
      },
    );
    t.after(there.stop);
    const here = gateway.running();
    await until('the store', async () => (await fetch(`${here.managementUrl}/readyz`)).ok || undefined);
    const client = await registerClient(gateway);
    const tokens = await client.tokens();
    const headers = { authorization: `Bearer ${textIn(tokens, 'access_token')}` };
    const atBoth = await Promise.all([here, there].map(({ url }) => openSession(url, {}, headers)));
    assert.deepEqual(
      atBoth.map(({ initialize }) => initialize.status),
      [200, 200],
    );
    const isBack = ({ href }: URL): boolean => href.startsWith(REDIRECT);
    const other = gateway.browser();
    const undecided = await other.open(client.authorizationUrl(), { stopAt: isBack });
    assert.equal(undecided.status, 200);

    const revoked = await revokeUser(there, { subject: 'corp|alice' });
    assert.equal(revoked.status, 200, JSON.stringify(revoked.body));
    assert.deepEqual(revoked.body.ended, { sessions: 2, streams: 0, calls: 0, accounts: ['corp'] });
    assert.deepEqual([revoked.body.replicas, revoked.body.reaches], [2, 'all replicas']);

    for (const { url } of [here, there])
      await until('the refusal', async () =>
        (await openSession(url, {}, headers)).initialize.status === 401 ? true : undefined,
      );
    const refreshed = await client.refresh(textIn(tokens, 'refresh_token'));
    assert.deepEqual([refreshed.status, refreshed.body['error']], [400, 'invalid_grant']);
    assert.ok((gateway.providers[0]?.askedFor('/token/revocation').length ?? 0) > 0, 'the provider is told');
    const decided = await other.press(undecided, 'approve', { stopAt: isBack });
    assert.ok(!isBack(decided.url) || !decided.url.searchParams.has('code'), 'a login of before gives no code');

    const again = await revokeUser(here, { subject: 'corp|alice' });
    assert.deepEqual(again.body.ended, { sessions: 0, streams: 0, calls: 0, accounts: [] });
    gateway.later(2_001);
    const anew = await client.redeem(codeIn(await client.signIn()));
    assert.equal(anew.status, 200, 'who may sign in at the provider may sign in anew');
  });
});
