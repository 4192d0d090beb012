import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { SECRET_SPREAD_MS } from '../../../../runtime/auth-server/keys/sealing-keys.ts';
import { startAuthorizationEndpoint } from '../../../fixtures/authorization-endpoint.ts';
import { frozenClock } from '../../../fixtures/frozen-clock.ts';
import { publishedBy, sealing, secretOf, startClients } from '../../../fixtures/oauth-clients.ts';

const REDIRECT = 'https://agent.example/callback';

/** What the token endpoint says about a client: past its authentication, the code is what is wrong. */
const AUTHENTICATED = { status: 400, error: 'invalid_grant' };
const REFUSED = { status: 401, error: 'invalid_client' };

const verdict = async (response: Response): Promise<object> => ({
  status: response.status,
  error: ((await response.json()) as { error: string }).error,
});

const basic = (id: string, secret: string): string => `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;

describe('at the token endpoint of oidc-provider, a client', () => {
  test('without a secret is known by its id alone', async () => {
    const clients = startClients();
    const { client_id } = await clients.registered({ redirect_uris: [REDIRECT] });
    const endpoint = await startAuthorizationEndpoint(clients.findClient);
    const form = { client_id, redirect_uri: REDIRECT };
    assert.deepEqual(await verdict(await endpoint.redeem(form)), AUTHENTICATED);
    assert.deepEqual(await verdict(await endpoint.redeem({ ...form, client_secret: 'any' })), REFUSED);
    await endpoint.close();
  });

  test('with a secret sends it as it registered, on any replica, also after the secrets rotated', async () => {
    const clients = startClients();
    const rotated = startClients(sealing(secretOf('second'), secretOf('first')));
    for (const [method, other] of [
      ['client_secret_post', 'client_secret_basic'],
      ['client_secret_basic', 'client_secret_post'],
    ] as const) {
      const registered = await clients.registered({ redirect_uris: [REDIRECT], token_endpoint_auth_method: method });
      const { client_id, client_secret = '' } = registered;
      const endpoint = await startAuthorizationEndpoint(rotated.findClient);
      const ask = async (how: string, secret: string): Promise<object> =>
        how === 'client_secret_basic'
          ? verdict(await endpoint.redeem({ redirect_uri: REDIRECT }, basic(client_id, secret)))
          : verdict(await endpoint.redeem({ redirect_uri: REDIRECT, client_id, client_secret: secret }));
      assert.deepEqual(await ask(method, client_secret), AUTHENTICATED, method);
      assert.deepEqual(await ask(method, `${client_secret}x`), REFUSED);
      assert.deepEqual(await ask(method, 'x'), REFUSED);
      // Either way of sending it is taken (RFC 6749 §2.3.1 leaves the choice to the client).
      assert.deepEqual(await ask(other, client_secret), AUTHENTICATED);
      assert.deepEqual(await verdict(await endpoint.redeem({ client_id, redirect_uri: REDIRECT })), REFUSED);
      await endpoint.close();
    }
  });

  test('whose secret was rotated away is no client any more', async () => {
    const { client_id } = await startClients().registered({ redirect_uris: [REDIRECT] });
    const later = frozenClock(Date.UTC(2026, 0, 1) + SECRET_SPREAD_MS);
    const without = startClients({ ...sealing(secretOf('second')), clock: later });
    const endpoint = await startAuthorizationEndpoint(without.findClient);
    assert.deepEqual(await verdict(await endpoint.redeem({ client_id, redirect_uri: REDIRECT })), REFUSED);
    const { outcome, sentTo } = await endpoint.authorize({ client_id, redirect_uri: REDIRECT });
    assert.deepEqual([outcome, sentTo], ['refused', undefined]);
    await endpoint.close();
  });

  test('with a metadata document proves itself with the keys that the document names', async () => {
    const id = 'https://agent.example/client.json';
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const { privateKey: another } = await generateKeyPair('ES256');
    const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: '1', alg: 'ES256', use: 'sig' }] };
    const document = {
      client_id: id,
      redirect_uris: [REDIRECT],
      token_endpoint_auth_method: 'private_key_jwt',
      jwks_uri: 'https://agent.example/keys',
    };
    const clients = startClients({
      findPublished: publishedBy(async ({ url }) => ({
        status: 200,
        headers: { 'content-type': 'application/json' },
        body: Buffer.from(JSON.stringify(url === id ? document : jwks)),
      })),
    });
    const endpoint = await startAuthorizationEndpoint(clients.findClient);
    const asserted = async (key: CryptoKey): Promise<object> => {
      const assertion = await new SignJWT()
        .setProtectedHeader({ alg: 'ES256', kid: '1' })
        .setIssuer(id)
        .setSubject(id)
        .setAudience(endpoint.origin)
        .setJti(randomUUID())
        .setIssuedAt()
        .setExpirationTime('1m')
        .sign(key);
      return verdict(
        await endpoint.redeem({
          redirect_uri: REDIRECT,
          client_assertion: assertion,
          client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        }),
      );
    };
    assert.deepEqual(await asserted(privateKey), AUTHENTICATED);
    assert.deepEqual(await asserted(another), REFUSED);
    assert.deepEqual(await verdict(await endpoint.redeem({ client_id: id, redirect_uri: REDIRECT })), REFUSED);
    await endpoint.close();
  });
});

describe('at the authorization endpoint of oidc-provider, a client', () => {
  test('may ask for what it registered and for the baseline, and for no more', async () => {
    const clients = startClients({
      scopes: () => ({ supported: ['openid', 'email', 'files.read', 'files.write'], baseline: ['email'] }),
    });
    const { client_id } = await clients.registered({ redirect_uris: [REDIRECT], scope: 'openid files.read' });
    const endpoint = await startAuthorizationEndpoint(clients.findClient);
    const ask = (scope: string) => endpoint.authorize({ client_id, redirect_uri: REDIRECT, scope });
    for (const scope of ['openid', 'files.read', 'email openid', 'email files.read'])
      assert.equal((await ask(scope)).outcome, 'asked', scope);
    const refused = await ask('openid files.write');
    assert.deepEqual([refused.outcome, refused.error], ['refused', 'invalid_scope']);
    await endpoint.close();
  });

  test('that cannot be had at the moment is told to come again, and not that it is unknown', async () => {
    const id = 'https://agent.example/client.json';
    const clients = startClients({
      findPublished: publishedBy(async () => ({ status: 503, headers: {}, body: Buffer.alloc(0) })),
    });
    const endpoint = await startAuthorizationEndpoint(clients.findClient);
    const { status, error, sentTo } = await endpoint.authorize({ client_id: id, redirect_uri: REDIRECT });
    assert.equal(status, 503);
    assert.match(error, /^temporarily_unavailable: .*try again/);
    assert.equal(sentTo, undefined);
    const answer = await endpoint.redeem({ client_id: id, redirect_uri: REDIRECT });
    assert.deepEqual(await verdict(answer), { status: 503, error: 'temporarily_unavailable' });
    await endpoint.close();
  });
});
