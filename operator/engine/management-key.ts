import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, SignJWT } from 'jose';
import type { JWK } from 'jose';
import type { ApiClient } from '../api/client.ts';
import { isConflict } from '../api/errors.ts';
import type { KubeObject } from '../object.ts';

const secretName = 'vmcp-operator-management';

/** The key that proves to a runtime's management port that the operator asks (decisions: "Management port"). */
export interface ManagementKey {
  /** Public JWKs that a runtime shall accept, newest first. */
  readonly publicKeys: readonly Readonly<Record<string, unknown>>[];
  /** A token for the server whose resource has this uid, good for a minute. */
  readonly token: (uid: string) => Promise<string>;
}

interface KeyDeps {
  readonly api: Pick<ApiClient, 'get' | 'create'>;
  readonly now: () => number;
}

/** Reads the key from its Secret; the first replica that finds none makes it, and the others take that one. */
export const managementKey = async (namespace: string, deps: KeyDeps, signal: AbortSignal): Promise<ManagementKey> => {
  const secret = (await read(namespace, deps, signal)) ?? (await make(namespace, deps, signal));
  const jwk = privateJwk(secret);
  const key = await importJWK(jwk, 'EdDSA');
  const { d: _, ...publicKey } = jwk;
  const header = { alg: 'EdDSA', ...(jwk.kid === undefined ? {} : { kid: jwk.kid }) };
  return {
    publicKeys: [publicKey],
    token: (uid) => {
      const issuedAt = Math.floor(deps.now() / 1000);
      return new SignJWT()
        .setProtectedHeader(header)
        .setIssuer('vmcp-operator')
        .setAudience(uid)
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + 60)
        .sign(key);
    },
  };
};

const read = (namespace: string, deps: KeyDeps, signal: AbortSignal): Promise<KubeObject | undefined> =>
  deps.api.get({ kind: 'Secret', namespace, name: secretName }, signal);

const make = async (namespace: string, deps: KeyDeps, signal: AbortSignal): Promise<KubeObject> => {
  const { privateKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true });
  const jwk = await exportJWK(privateKey);
  const named: JWK = { ...jwk, alg: 'EdDSA', use: 'sig', kid: await calculateJwkThumbprint(jwk) };
  const secret: KubeObject = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: secretName, namespace, labels: { 'app.kubernetes.io/managed-by': 'vmcp-operator' } },
    type: 'Opaque',
    data: { 'key.json': Buffer.from(JSON.stringify(named)).toString('base64') },
  };
  try {
    return await deps.api.create(secret, signal);
  } catch (error) {
    const made = isConflict(error) ? await read(namespace, deps, signal) : undefined;
    if (made === undefined) {
      throw error;
    }
    return made;
  }
};

const privateJwk = (secret: KubeObject): JWK => {
  const data = (secret['data'] ?? {}) as Readonly<Record<string, string>>;
  const text = Buffer.from(data['key.json'] ?? '', 'base64').toString('utf8');
  if (text === '') {
    throw new Error(`Secret ${secretName} has no key key.json; delete it and a new one is made`);
  }
  return JSON.parse(text) as JWK;
};
