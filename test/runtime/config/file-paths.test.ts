import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backendsFileSchema, filePathsIn, fileSchema } from '../../../runtime/config/index.ts';

test('a file is a path where the schema has one, however deep, and nowhere else', () => {
  const main = {
    name: '/etc/name',
    incomingAuth: { type: 'oidc', oidc: { issuer: '/etc/issuer', clientSecretFile: '/etc/secret' } },
    outgoingAuth: { backends: { a: { type: 'bearer_token', bearerToken: { tokenFile: '/etc/token' } } } },
    authServer: { signingKeyFiles: ['/etc/key'], hmacFiles: ['/etc/hmac', 5] },
    telemetry: { headerFiles: { authorization: '/etc/header' }, headers: { 'x-note': '/etc/note' } },
    extensions: { sessionStore: { passwordFile: '/etc/password' } },
  };
  assert.deepEqual(filePathsIn(fileSchema, main).toSorted(), [
    '/etc/header',
    '/etc/hmac',
    '/etc/key',
    '/etc/password',
    '/etc/secret',
    '/etc/token',
  ]);
  const headerForward = { plaintext: { 'x-a': '/etc/plain' }, secretFiles: { 'x-b': '/etc/b' } };
  const found = { backends: [{ name: 'a', url: '/etc/url', caBundlePath: '/etc/ca', headerForward }] };
  assert.deepEqual(filePathsIn(backendsFileSchema, found), ['/etc/ca', '/etc/b']);
});
