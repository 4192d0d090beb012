import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { fetchPolicies } from '../../../runtime/http/fetch-policy.ts';
import { guardedFetch, type GuardedClient } from '../../../runtime/http/guarded-fetch.ts';
import { noCertificates, type TestCertificates, testCertificates } from '../../fixtures/certificates.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';
import { fails } from '../../fixtures/guarded-fetch.ts';
import { type PlainServer, startPlainServer } from '../../fixtures/plain-server.ts';

describe('a server with a certificate of a private authority', { skip: noCertificates }, () => {
  let certificates: TestCertificates;
  let authority: string;
  let otherAuthority: string;
  let server: PlainServer;
  let client: GuardedClient | undefined;

  before(async () => {
    certificates = await testCertificates();
    authority = await readFile(certificates.caFile, 'utf8');
    const others = await testCertificates();
    otherAuthority = await readFile(others.caFile, 'utf8');
    await others.remove();
  });
  after(() => certificates.remove());
  beforeEach(async () => {
    const [key, cert] = await Promise.all([
      readFile(certificates.keyFile, 'utf8'),
      readFile(certificates.certificateFile, 'utf8'),
    ]);
    server = await startPlainServer({ key, cert });
  });
  afterEach(async () => {
    await client?.close();
    await server.close();
  });

  /** With a bundle that is read anew from here each time. */
  const open = (bundle?: () => string): GuardedClient => {
    client = guardedFetch(fetchPolicies.token, {
      clock: frozenClock(),
      caBundle: bundle && { path: '/ca.crt', readFile: async () => bundle() },
      resolve: (_name, _options, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]),
    });
    return client;
  };

  test('is fetched from when the bundle holds the authority, by address and by name', async () => {
    const { fetch } = open(() => authority);
    for (const origin of [server.origin, `https://localhost:${server.port}`])
      assert.equal((await fetch({ url: origin })).status, 200);
  });

  test('is not when there is no bundle', async () => {
    const { fetch } = open();
    await assert.rejects(fetch({ url: server.origin }), fails('network_error', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'));
    assert.equal(server.requests.length, 0);
  });

  test('is not when the bundle holds another authority', async () => {
    const { fetch } = open(() => otherAuthority);
    await assert.rejects(fetch({ url: server.origin }), fails('network_error'));
    assert.equal(server.requests.length, 0);
  });

  test('is not by a name that the certificate does not hold', async () => {
    const { fetch } = open(() => authority);
    const url = `https://other.example:${server.port}/`;
    await assert.rejects(fetch({ url }), fails('network_error', 'ERR_TLS_CERT_ALTNAME_INVALID'));
    assert.equal(server.requests.length, 0);
  });

  test('is refused or let in by what the bundle holds when a connection is made', async () => {
    let bundle = otherAuthority;
    const { fetch } = open(() => bundle);
    server.answer((_request, response) => void response.writeHead(200, { connection: 'close' }).end());
    await assert.rejects(fetch({ url: server.origin }), fails('network_error'));
    bundle = authority;
    assert.equal((await fetch({ url: server.origin })).status, 200);
    bundle = otherAuthority;
    await assert.rejects(fetch({ url: server.origin }), fails('network_error'));
  });

  const unusable: readonly (readonly [what: string, read: () => string, detail: string])[] = [
    ['cannot be read', () => assert.fail('no such file'), 'names a file that cannot be read: mount it'],
    ['is empty', () => '', 'names a file without certificates: write them there as PEM'],
    ['is garbage', () => 'garbage', 'names a file without certificates: write them there as PEM'],
    [
      'holds a broken certificate',
      () => `${authority}\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
      'names a file whose certificate number 2 cannot be read: mend it',
    ],
    ['is too large', () => 'x'.repeat(1024 * 1024 + 1), 'names a file of more than 1 MiB: keep certificates only'],
  ];
  for (const [what, read, detail] of unusable)
    test(`is not contacted while the bundle ${what}`, async () => {
      await assert.rejects(open(read).fetch({ url: server.origin }), fails('ca_bundle_unusable', detail));
      assert.equal(server.sockets.length, 0);
    });
});
