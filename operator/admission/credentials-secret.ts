import { X509Certificate, createPrivateKey } from 'node:crypto';
import { type KubeObject, fieldManager } from '../object.ts';
import { type Credentials, bundleOf } from './credentials.ts';
import type { CertificateAndKey } from './x509.ts';

export const secretName = 'vmcp-operator-webhook';

/**
 * The Secret with these credentials, in the form that other programs keep theirs in; `before` is the one it replaces.
 */
export const secretOf = (namespace: string, credentials: Credentials, before?: KubeObject): KubeObject => {
  const data = {
    'tls.crt': credentials.server.certificate,
    'tls.key': credentials.server.key,
    'ca.crt': bundleOf(credentials),
    'ca.key': credentials.authorities.map(({ key }) => key).join(''),
  };
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: before?.metadata ?? {
      name: secretName,
      namespace,
      labels: { 'app.kubernetes.io/managed-by': fieldManager },
    },
    type: 'kubernetes.io/tls',
    data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
  };
};

/** Throws when what is in the Secret cannot be used. */
export const credentialsIn = (secret: KubeObject): Credentials => {
  const data = (secret['data'] ?? {}) as Readonly<Record<string, string>>;
  const text = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString('utf8');
  const keys = blocksIn(text('ca.key'));
  const authorities = blocksIn(text('ca.crt')).map((certificate, index) => ({ certificate, key: keys[index] ?? '' }));
  const server = { certificate: text('tls.crt'), key: text('tls.key') };
  if (authorities.length === 0 || ![...authorities, server].every(isUsable)) {
    throw new Error(`Secret ${secretName} has no certificates that can be used; delete it and new ones are made`);
  }
  return { authorities, server };
};

const blocksIn = (pem: string): readonly string[] =>
  pem.match(/-----BEGIN [^-]+-----\n[^-]+-----END [^-]+-----\n/g) ?? [];

const isUsable = ({ certificate, key }: CertificateAndKey): boolean => {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
};
