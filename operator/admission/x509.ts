import { X509Certificate, createHash, createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { isIPv4 } from 'node:net';

/** PEM, both; the key is PKCS #8. */
export interface Certified {
  readonly certificate: string;
  readonly key: string;
}

interface Validity {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A new authority for ECDSA P-256, signed by itself. */
export const newAuthority = (name: string, validity: Validity): Certified => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const extensions = [
    extension(OID.basicConstraints, sequence(boolean(true)), true),
    // keyCertSign and cRLSign
    extension(OID.keyUsage, der(0x03, [1, 0b0000_0110]), true),
    extension(OID.subjectKeyIdentifier, der(0x04, keyIdentifier(publicKey))),
  ];
  return certified({ name, publicKey, validity, extensions }, privateKey, { name, key: privateKey });
};

/** A new certificate of that authority for TLS servers of these DNS names and IPv4 addresses. */
export const newServerCertificate = (hosts: readonly string[], validity: Validity, authority: Certified): Certified => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const issuer = createPrivateKey(authority.key);
  const name = new X509Certificate(authority.certificate).subject.replace('CN=', '');
  const extensions = [
    extension(OID.basicConstraints, sequence(), true),
    // digitalSignature
    extension(OID.keyUsage, der(0x03, [7, 0b1000_0000]), true),
    extension(OID.extendedKeyUsage, sequence(oid(OID.serverAuth))),
    extension(OID.subjectAlternativeName, sequence(...hosts.map(alternativeName))),
    extension(OID.authorityKeyIdentifier, sequence(der(0x80, keyIdentifier(createPublicKey(issuer))))),
  ];
  return certified({ name: `${name}-server`, publicKey, validity, extensions }, privateKey, { name, key: issuer });
};

interface Subject {
  readonly name: string;
  readonly publicKey: KeyObject;
  readonly validity: Validity;
  readonly extensions: readonly Buffer[];
}

/** RFC 5280 §4.1 */
const certified = (
  subject: Subject,
  privateKey: KeyObject,
  issuer: { readonly name: string; readonly key: KeyObject },
): Certified => {
  const algorithm = sequence(oid(OID.ecdsaWithSha256));
  const toBeSigned = sequence(
    der(0xa0, integer([2])), // version 3
    integer(serialNumber(subject.publicKey)),
    algorithm,
    commonName(issuer.name),
    sequence(time(subject.validity.fromMs), time(subject.validity.toMs)),
    commonName(subject.name),
    subject.publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...subject.extensions)),
  );
  const signature = sign('sha256', toBeSigned, issuer.key);
  const certificate = sequence(toBeSigned, algorithm, der(0x03, [0, ...signature]));
  return { certificate: pem(certificate), key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
};

/** Keys are never used twice, so neither is a number made of one; 16 bytes, and positive. */
const serialNumber = (publicKey: KeyObject): readonly number[] => {
  const [first = 0, ...rest] = digest('sha256', publicKey).subarray(0, 16);
  return [(first & 0x3f) | 0x40, ...rest];
};

/** RFC 5280 §4.2.1.2, over the whole of the key's structure: any unique value will do. */
const keyIdentifier = (publicKey: KeyObject): Buffer => digest('sha1', publicKey);

const digest = (algorithm: string, publicKey: KeyObject): Buffer =>
  createHash(algorithm)
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest();

const OID = {
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  commonName: '2.5.4.3',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAlternativeName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
} as const;

const extension = (id: string, value: Buffer, isCritical = false): Buffer =>
  sequence(oid(id), ...(isCritical ? [boolean(true)] : []), der(0x04, value));

const alternativeName = (host: string): Buffer =>
  isIPv4(host) ? der(0x87, host.split('.').map(Number)) : der(0x82, Buffer.from(host, 'ascii'));

const commonName = (name: string): Buffer =>
  sequence(der(0x31, sequence(oid(OID.commonName), der(0x0c, Buffer.from(name, 'utf8')))));

/** X.690 §8: tag, length, content. */
const der = (tag: number, content: Uint8Array | readonly number[]): Buffer =>
  Buffer.concat([Buffer.from([tag, ...lengthOf(content.length)]), Buffer.from(content)]);

const lengthOf = (length: number): readonly number[] => {
  if (length < 0x80) return [length];
  return length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
};

const sequence = (...parts: readonly Buffer[]): Buffer => der(0x30, Buffer.concat(parts));

const integer = (bytes: readonly number[]): Buffer => der(0x02, bytes);

const boolean = (value: boolean): Buffer => der(0x01, [value ? 0xff : 0]);

const oid = (text: string): Buffer => {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  return der(0x06, [first * 40 + second, ...rest.flatMap(base128)]);
};

const base128 = (value: number): readonly number[] =>
  value < 0x80 ? [value] : [...base128(value >> 7).map((byte) => byte | 0x80), value & 0x7f];

/** RFC 5280 §4.1.2.5: two digits of the year until 2049, four from then on. */
const time = (ms: number): Buffer => {
  const digits = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return digits < '2050' ? der(0x17, Buffer.from(digits.slice(2))) : der(0x18, Buffer.from(digits));
};

const pem = (certificate: Buffer): string => {
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
};
