import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type AuthServerGateway, startAuthServer } from '../../fixtures/auth-server.ts';
import { noCertificates } from '../../fixtures/certificates.ts';

/** Every endpoint, with the methods that it has. */
const ENDPOINTS: readonly (readonly [path: string, methods: readonly string[]])[] = [
  ['/.well-known/oauth-authorization-server', ['GET']],
  ['/.well-known/openid-configuration', ['GET']],
  ['/.well-known/jwks.json', ['GET']],
  ['/oauth/authorize', ['GET']],
  ['/oauth/login', ['GET']],
  ['/oauth/callback', ['GET']],
  ['/mcp/oauth/callback', ['GET']],
  ['/oauth/consent', ['GET', 'POST']],
  ['/oauth/link', ['GET', 'POST']],
  ['/oauth/accounts', ['GET', 'POST']],
  ['/oauth/token', ['POST']],
  ['/oauth/revoke', ['POST']],
  ['/oauth/register', ['POST']],
];

describe('a method that an endpoint of the authorization server does not have', { skip: noCertificates }, () => {
  let gateway: AuthServerGateway;
  before(async () => {
    gateway = await startAuthServer();
  });
  after(() => gateway.stop());

  for (const [path, methods] of ENDPOINTS)
    test(`is answered with those that it has: ${path}`, async () => {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
        const { status, headers } = await fetch(`${gateway.issuer}${path}`, { method, redirect: 'manual' });
        const isThere = methods.includes(method);
        assert.equal(status === 405, !isThere, `${method}: ${status}`);
        assert.notEqual(status, 404, method);
        assert.equal(headers.get('allow'), isThere ? null : [...methods, 'OPTIONS'].join(', '), method);
      }
    });

  test('is not found at a path where there is no endpoint', async () => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      const { status } = await fetch(`${gateway.issuer}/oauth/other`, { method });
      assert.equal(status, 404, method);
    }
  });
});
