import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { connect, createServer } from 'node:tls';
import type { TLSSocket } from 'node:tls';
import { type CertificateAndKey, newAuthority, newServerCertificate } from '../../../operator/admission/x509.ts';
import { run } from '../../cluster/command.ts';
import { scratchFolder } from '../../cluster/scratch.ts';
import { noCertificates } from '../../fixtures/certificates.ts';

const day = 86_400_000;
const now = Date.parse('2026-11-20T12:00:00Z');
const validity = { fromMs: now - day, toMs: now + 90 * day };
const addresses = ['127.0.0.1', '::1', '2001:db8::a:0:1', '::ffff:7f00:1', '1:2:3:4:5:6:7:8'];
const names = ['webhook.vmcp-system.svc', 'localhost', `${'a'.repeat(63)}.${'b'.repeat(63)}.svc`];
const hosts = [...names, ...addresses];

const authority = newAuthority('vmcp-operator-1', validity);
const server = newServerCertificate(hosts, validity, authority);
const [ca, leaf] = [new X509Certificate(authority.certificate), new X509Certificate(server.certificate)];

let folder: Awaited<ReturnType<typeof scratchFolder>>;
before(async () => {
  folder = await scratchFolder('x509');
});
after(() => folder.remove());

test('an authority is one, signed by itself', () => {
  assert.equal(ca.ca, true);
  assert.equal(ca.subject, 'CN=vmcp-operator-1');
  assert.equal(ca.issuer, ca.subject);
  assert.ok(ca.verify(ca.publicKey));
  assert.deepEqual([ca.validFromDate.getTime(), ca.validToDate.getTime()], [validity.fromMs, validity.toMs]);
});

test('a server certificate is of its authority, for exactly these hosts, and fits its key', () => {
  assert.equal(leaf.ca, false);
  assert.ok(leaf.checkIssued(ca));
  assert.ok(leaf.verify(ca.publicKey));
  for (const name of names) assert.ok(leaf.checkHost(name), name);
  for (const address of addresses) assert.ok(leaf.checkIP(address), address);
  assert.equal(leaf.checkIP('::2'), undefined);
  assert.equal(leaf.checkHost('other.vmcp-system.svc'), undefined);
  assert.deepEqual(leaf.keyUsage, ['1.3.6.1.5.5.7.3.1']);
});

test('numbers are positive and never the same', () => {
  const more = Array.from({ length: 50 }, () => new X509Certificate(newAuthority('a', validity).certificate));
  const numbers = new Set(more.map(({ serialNumber }) => serialNumber));
  assert.equal(numbers.size, 50);
  for (const number of numbers) assert.match(number, /^[4-7][0-9A-F]{31}$/);
});

test('a year from 2050 on is written with four digits', () => {
  const late = { fromMs: Date.parse('2049-12-31T23:59:59Z'), toMs: Date.parse('2050-01-01T00:00:00Z') };
  const certificate = new X509Certificate(newAuthority('a', late).certificate);
  assert.deepEqual(certificate.validFromDate, new Date(late.fromMs));
  assert.deepEqual(certificate.validToDate, new Date(late.toMs));
});

test('OpenSSL takes the chain, strictly', { skip: noCertificates }, async () => {
  const [caFile, file] = [join(folder.path, 'ca.pem'), join(folder.path, 'server.pem')];
  await writeFile(caFile, authority.certificate);
  await writeFile(file, server.certificate);
  const strict = ['verify', '-x509_strict', '-check_ss_sig', '-purpose', 'sslserver', '-attime', `${now / 1000}`];
  await run('openssl', [...strict, '-verify_hostname', hosts[0] ?? '', '-CAfile', caFile, file]);
  const other = newAuthority('vmcp-operator-1', validity);
  await writeFile(caFile, other.certificate);
  await assert.rejects(run('openssl', [...strict, '-CAfile', caFile, file]), /verification failed/);
});

test('OpenSSL finds in both what RFC 5280 asks for, and nothing else', { skip: noCertificates }, async () => {
  const extensionsOf = async ({ certificate }: CertificateAndKey): Promise<readonly string[]> => {
    const file = join(folder.path, 'extensions.pem');
    await writeFile(file, certificate);
    const text = await run('openssl', ['x509', '-in', file, '-noout', '-text']);
    const [, extensions = ''] = /X509v3 extensions:\n([^]*?)\n {4}Signature Algorithm/.exec(text) ?? [];
    return extensions.split('\n').map((line) => line.trim());
  };
  const identifier = /^[0-9A-F]{2}(:[0-9A-F]{2}){19}$/;
  const ofAuthority = await extensionsOf(authority);
  assert.match(ofAuthority[5] ?? '', identifier);
  assert.deepEqual(ofAuthority.with(5, ''), [
    'X509v3 Basic Constraints: critical',
    'CA:TRUE',
    'X509v3 Key Usage: critical',
    'Certificate Sign, CRL Sign',
    'X509v3 Subject Key Identifier:',
    '',
  ]);
  const ofServer = await extensionsOf(newServerCertificate(['a.svc', '10.1.2.3', '2001:db8::1'], validity, authority));
  assert.deepEqual(ofServer, [
    'X509v3 Basic Constraints: critical',
    'CA:FALSE',
    'X509v3 Key Usage: critical',
    'Digital Signature',
    'X509v3 Extended Key Usage:',
    'TLS Web Server Authentication',
    'X509v3 Subject Alternative Name:',
    'DNS:a.svc, IP Address:10.1.2.3, IP Address:2001:DB8:0:0:0:0:0:1',
    'X509v3 Authority Key Identifier:',
    ofAuthority[5],
  ]);
});

test('a TLS client that knows the authority is let in under its names, and under no other', async () => {
  const current = { fromMs: Date.now() - day, toMs: Date.now() + day };
  const issuer = newAuthority('now', current);
  const { certificate, key } = newServerCertificate(['a.b.svc'], current, issuer);
  const listener = createServer({ cert: certificate, key }, (socket) => socket.end()).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  const handshake = async (servername: string): Promise<boolean> => {
    const socket: TLSSocket = connect({ port, host: '127.0.0.1', servername, ca: issuer.certificate });
    try {
      await once(socket, 'secureConnect');
      return socket.authorized;
    } finally {
      socket.destroy();
    }
  };
  assert.ok(await handshake('a.b.svc'));
  await assert.rejects(handshake('c.b.svc'), /altnames/);
  listener.close();
});
