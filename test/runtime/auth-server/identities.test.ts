import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { decodeJwt, type JWTPayload } from 'jose';
import { type AuthServerGateway, startAuthServer } from '../../fixtures/auth-server.ts';
import { noCertificates } from '../../fixtures/certificates.ts';
import { registerClient, textIn } from '../../fixtures/signing-in.ts';

describe('what identity providers say of a user', { skip: noCertificates }, () => {
  let gateway: AuthServerGateway;
  before(async () => {
    gateway = await startAuthServer();
  });
  after(() => gateway.stop());

  const claimsOf = async (user: object): Promise<JWTPayload> => {
    gateway.providers[0]?.instead.set('/me', (_request, response) => {
      response.end(JSON.stringify({ sub: 'alice', name: 'Mallory', ...user }));
    });
    const client = await registerClient(gateway);
    return decodeJwt(textIn(await client.tokens(), 'access_token'));
  };

  test('an address that the provider has not verified is in no token', async () => {
    const claims = await claimsOf({ email: 'ceo@corp.example', email_verified: false });
    assert.deepEqual([claims['name'], claims['email'], claims['email_verified']], ['Mallory', undefined, undefined]);
  });

  test('one that it has verified is told as such', async () => {
    const claims = await claimsOf({ email: 'mallory@corp.example', email_verified: true });
    assert.deepEqual([claims['email'], claims['email_verified']], ['mallory@corp.example', true]);
  });
});
