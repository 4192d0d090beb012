import { X509Certificate, createHash, createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { isIP } from 'node:net';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  GeneralName,
  KeyIdentifier,
  KeyUsage,
  KeyUsageFlags,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectKeyIdentifier,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity as ValidityOfCertificate,
  Version,
  id_ce_authorityKeyIdentifier,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
  id_ce_subjectKeyIdentifier,
  id_kp_serverAuth,
} from '@peculiar/asn1-x509';

/** PEM, both; the key is PKCS #8. */
export interface CertificateAndKey {
  readonly certificate: string;
  readonly key: string;
}

interface Validity {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A new authority for ECDSA P-256, signed by itself. */
export const newAuthority = (name: string, validity: Validity): CertificateAndKey => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const extensions = [
    extension(id_ce_basicConstraints, new BasicConstraints({ cA: true }), true),
    extension(id_ce_keyUsage, new KeyUsage(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign), true),
    extension(id_ce_subjectKeyIdentifier, new SubjectKeyIdentifier(keyIdentifier(publicKey))),
  ];
  return signedCertificate({ name, publicKey, validity, extensions }, privateKey, { name, key: privateKey });
};

/**
 * A new certificate of that authority for TLS servers of these DNS names, IPv4 and IPv6 addresses, the last in the form
 * that a URL has them in: no part of it as an IPv4 address.
 */
export const newServerCertificate = (
  hosts: readonly string[],
  validity: Validity,
  authority: CertificateAndKey,
): CertificateAndKey => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const issuer = createPrivateKey(authority.key);
  const name = new X509Certificate(authority.certificate).subject.replace('CN=', '');
  const issuerIdentifier = new KeyIdentifier(keyIdentifier(createPublicKey(issuer)));
  const extensions = [
    extension(id_ce_basicConstraints, new BasicConstraints(), true),
    extension(id_ce_keyUsage, new KeyUsage(KeyUsageFlags.digitalSignature), true),
    extension(id_ce_extKeyUsage, new ExtendedKeyUsage([id_kp_serverAuth])),
    extension(id_ce_subjectAltName, new SubjectAlternativeName(hosts.map(alternativeName))),
    extension(id_ce_authorityKeyIdentifier, new AuthorityKeyIdentifier({ keyIdentifier: issuerIdentifier })),
  ];
  return signedCertificate({ name: `${name}-server`, publicKey, validity, extensions }, privateKey, {
    name,
    key: issuer,
  });
};

interface Subject {
  readonly name: string;
  readonly publicKey: KeyObject;
  readonly validity: Validity;
  readonly extensions: readonly Extension[];
}

/** RFC 5280 §4.1 */
const signedCertificate = (
  { name, publicKey, validity: { fromMs, toMs }, extensions }: Subject,
  privateKey: KeyObject,
  issuer: { readonly name: string; readonly key: KeyObject },
): CertificateAndKey => {
  const tbsCertificate = new TBSCertificate({
    version: Version.v3,
    serialNumber: serialNumber(publicKey),
    signature: ecdsaWithSha256(),
    issuer: commonName(issuer.name),
    validity: new ValidityOfCertificate({ notBefore: new Date(fromMs), notAfter: new Date(toMs) }),
    subject: commonName(name),
    subjectPublicKeyInfo: AsnConvert.parse(structureOf(publicKey), SubjectPublicKeyInfo),
    extensions: new Extensions([...extensions]),
  });
  const signature = sign('sha256', Buffer.from(AsnConvert.serialize(tbsCertificate)), issuer.key);
  const certificate = new Certificate({
    tbsCertificate,
    signatureAlgorithm: ecdsaWithSha256(),
    signatureValue: copied(signature),
  });
  return {
    certificate: new X509Certificate(Buffer.from(AsnConvert.serialize(certificate))).toString(),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
};

/** RFC 5758 §3.2: without parameters. */
const ecdsaWithSha256 = (): AlgorithmIdentifier => new AlgorithmIdentifier({ algorithm: '1.2.840.10045.4.3.2' });

/** Keys are never used twice, so neither is a number made of one; 16 bytes, and positive. */
const serialNumber = (publicKey: KeyObject): ArrayBuffer => {
  const [first = 0, ...rest] = digest('sha256', publicKey).subarray(0, 16);
  return copied([(first & 0x3f) | 0x40, ...rest]);
};

/** RFC 5280 §4.2.1.2, over the whole of the key's structure: any unique value will do. */
const keyIdentifier = (publicKey: KeyObject): Buffer => digest('sha1', publicKey);

const digest = (algorithm: string, publicKey: KeyObject): Buffer =>
  createHash(algorithm).update(structureOf(publicKey)).digest();

const structureOf = (publicKey: KeyObject): Buffer => publicKey.export({ type: 'spki', format: 'der' });

const extension = (extnID: string, value: object, critical = false): Extension =>
  new Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) });

const alternativeName = (host: string): GeneralName =>
  new GeneralName(isIP(host) === 0 ? { dNSName: host } : { iPAddress: host });

const COMMON_NAME = '2.5.4.3';

const commonName = (name: string): Name => {
  const value = new AttributeValue({ utf8String: name });
  return new Name([new RelativeDistinguishedName([new AttributeTypeAndValue({ type: COMMON_NAME, value })])]);
};

/** Into a buffer of their own: Node keeps small ones together in one. */
const copied = (bytes: ArrayLike<number>): ArrayBuffer => Uint8Array.from(bytes).buffer;
