import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type AuthServerGateway, startAuthServer } from '../../fixtures/auth-server.ts';
import { noCertificates } from '../../fixtures/certificates.ts';

/** Every endpoint, with the methods that it has. */
const ENDPOINTS: readonly (readonly [path: string, methods: readonly string[]])[] = [
  ['/.well-known/oauth-authorization-server', ['GET', 'HEAD']],
  ['/.well-known/openid-configuration', ['GET', 'HEAD']],
  ['/.well-known/jwks.json', ['GET', 'HEAD']],
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
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']) {
        const { status, headers } = await fetch(`${gateway.issuer}${path}`, { method, redirect: 'manual' });
        const isThere = methods.includes(method);
        assert.equal(status === 405, !isThere, `${method}: ${status}`);
        assert.notEqual(status, 404, method);
        assert.equal(headers.get('allow'), isThere ? null : [...methods, 'OPTIONS'].join(', '), method);
      }
    });

  test('is answered so whatever the size of its body', async () => {
    for (const [path, method] of [
      ['/oauth/token', 'PUT'],
      ['/.well-known/jwks.json', 'POST'],
    ] as const) {
      const { status } = await fetch(`${gateway.issuer}${path}`, { method, body: Buffer.alloc(2 * 1024 * 1024) });
      assert.equal(status, 405, path);
    }
  });

  test('is not found at a path where there is no endpoint', async () => {
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      const { status } = await fetch(`${gateway.issuer}/oauth/other`, { method });
      assert.equal(status, 404, method);
    }
  });

  test('is in no answer to a preflight', async () => {
    const { origin } = new URL(gateway.issuer);
    for (const [path, methods] of [...ENDPOINTS, ['/oauth/other', ['GET', 'POST']] as const]) {
      const answer = await fetch(`${gateway.issuer}${path}`, { method: 'OPTIONS', headers: { origin } });
      assert.deepEqual([answer.status, answer.headers.get('access-control-allow-methods')], [204, methods.join(', ')]);
    }
  });

  test('HEAD of a document has the headers of GET, and no body', async () => {
    for (const path of ['/.well-known/oauth-authorization-server', '/.well-known/jwks.json']) {
      const [head, get] = await Promise.all(
        ['HEAD', 'GET'].map((method) => fetch(`${gateway.issuer}${path}`, { method })),
      );
      assert.equal(head?.status, 200);
      for (const name of ['content-type', 'content-length', 'cache-control'])
        assert.equal(head?.headers.get(name), get?.headers.get(name), name);
      assert.equal(await head?.text(), '');
    }
  });
});
