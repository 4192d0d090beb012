import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { Agent } from 'undici';
import { type AuthServerGateway, startAuthServer } from '../../../fixtures/auth-server.ts';
import { noCertificates } from '../../../fixtures/certificates.ts';
import { type PlainServer, startPlainServer } from '../../../fixtures/plain-server.ts';
import { noRedis, startRedis, type TestRedis } from '../../../fixtures/redis.ts';
import { clientAt, REDIRECT, textIn } from '../../../fixtures/signing-in.ts';
import { holdAllFetches } from './held-fetches.ts';

const PASSWORD = 'password-of-a-test';

describe('after a restart, with a store in Redis', { skip: noCertificates || noRedis }, () => {
  let redis: TestRedis;
  let gateway: AuthServerGateway;
  let sites: readonly PlainServer[];
  let agents: readonly Agent[];
  before(async () => {
    redis = await startRedis({ password: PASSWORD });
    gateway = await startAuthServer({ areStrangersHere: true });
    const { keyFile, certificateFile } = gateway.certificates;
    const [key = '', cert = ''] = await Promise.all([keyFile, certificateFile].map((file) => readFile(file, 'utf8')));
    sites = await Promise.all(Array.from({ length: 5 }, () => startPlainServer({ key, cert })));
    agents = [1, 2, 3, 4, 5].map((n) => new Agent({ localAddress: `127.9.8.${n}` }));
  });
  after(async () => {
    await Promise.all([...sites, ...agents].map((each) => each.close()));
    await gateway.stop();
    await redis.stop();
  });

  test('clients in use are fetched while strangers at many addresses keep all fetches waiting', async () => {
    const [site, ...slow] = sites;
    assert.ok(site);
    const password = await gateway.write('password', PASSWORD);
    const kvstore = { addr: redis.address, aclUserConfig: { passwordFile: password } };
    const authServer = { storage: { type: 'kvstore', kvstore } };
    await gateway.restart({ authServer });
    const client = clientAt(gateway, { client_id: `${site.origin}/client.json` });
    const document = { client_id: client.id, redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none' };
    site.answer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
    });
    const refreshToken = textIn(await client.tokens(), 'refresh_token');

    await gateway.restart({ authServer });
    const areRefused = await holdAllFetches(gateway, slow, agents);
    // It competes with all of these, where it is in use by nobody.
    const unknown = clientAt(gateway, { client_id: `${site.origin}/another.json` });
    assert.equal((await gateway.browser().open(unknown.authorizationUrl())).status, 503);
    assert.equal((await client.refresh(refreshToken)).status, 200);
    assert.ok((await client.signIn()).searchParams.has('code'));
    await areRefused();
  });
});
