import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { calculateJwkThumbprint, type JWK } from 'jose';
import { keysUnusable } from './keys-unusable.ts';

/** A key that signs tokens, or has signed them. */
export interface SigningKey {
  /** Thumbprint of the key (RFC 7638), so that all replicas call it the same. */
  readonly kid: string;
  readonly alg: string;
  readonly privateJwk: JWK;
  readonly publicJwk: JWK;
}

/** The first key signs; all of them are published, and verify. */
export type SigningKeys = readonly [SigningKey, ...SigningKey[]];

/** The keys in these PEM texts. Throws `issuer_unavailable` for one that is missing, or that nothing is signed with. */
export const signingKeysIn = async (pems: readonly (string | undefined)[]): Promise<SigningKeys> => {
  const keys = await Promise.all(pems.map(async (pem, at) => signingKeyIn(pem, at)));
  const [first, ...others] = keys;
  if (!first) throw keysUnusable('there is no signing key');
  const unique = new Map([first, ...others].map((key) => [key.kid, key]));
  return [first, ...[...unique.values()].filter(({ kid }) => kid !== first.kid)];
};

const signingKeyIn = async (pem: string | undefined, at: number): Promise<SigningKey> => {
  const which = `signing key ${at + 1}`;
  if (pem === undefined) throw keysUnusable(`${which} is missing`);
  const key = privateKeyIn(pem, which);
  const alg = algorithmOf(key);
  if (alg === undefined) throw keysUnusable(`${which} is of a kind that signs no token: ${KINDS}`);
  const publicPart = createPublicKey(key).export({ format: 'jwk' }) as JWK;
  const kid = await calculateJwkThumbprint(publicPart);
  const use = { kid, alg, use: 'sig' };
  return {
    kid,
    alg,
    privateJwk: { ...(key.export({ format: 'jwk' }) as JWK), ...use },
    publicJwk: { ...publicPart, ...use },
  };
};

const privateKeyIn = (pem: string, which: string): KeyObject => {
  try {
    return createPrivateKey(pem);
  } catch {
    // The message of OpenSSL could repeat parts of the file.
    throw keysUnusable(`${which} is no private key in PEM without a passphrase`);
  }
};

const KINDS = 'use RSA with 2048 bits or more, EC on P-256, P-384 or P-521, or Ed25519';

/** RFC 7518 §3.3: an RSA key has 2048 bits or more. */
const MIN_RSA_BITS = 2048;

/** RFC 7518 §3.1 and RFC 8037 §3.1, by the kind of the key. */
const algorithmOf = ({ asymmetricKeyType, asymmetricKeyDetails = {} }: KeyObject): string | undefined => {
  const { modulusLength = 0, namedCurve = '' } = asymmetricKeyDetails;
  if (asymmetricKeyType === 'rsa') return modulusLength >= MIN_RSA_BITS ? 'RS256' : undefined;
  if (asymmetricKeyType === 'ec') return ALGORITHM_OF_CURVE.get(namedCurve);
  return asymmetricKeyType === 'ed25519' ? 'EdDSA' : undefined;
};

const ALGORITHM_OF_CURVE: ReadonlyMap<string, string> = new Map([
  ['prime256v1', 'ES256'],
  ['secp384r1', 'ES384'],
  ['secp521r1', 'ES512'],
]);
