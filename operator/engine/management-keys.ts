import { isDeepStrictEqual } from 'node:util';
import { importJWK, SignJWT } from 'jose';
import type { JWK } from 'jose';
import { keysIn, newKey, secretName, secretOf } from './key-secret.ts';
import type { Key } from './key-secret.ts';
import { macKeyOf, hmacWith } from '../plan/mac.ts';
import type { ApiClient } from '../api/client.ts';
import { isConflict } from '../api/errors.ts';
import type { Mac } from '../plan/mac.ts';

/** The keys that prove to a runtime's management port that the operator asks (docs/decisions.md "Management port"). */
export interface ManagementKeys {
  /** Public JWKs that a runtime shall accept at this moment, newest first. */
  readonly publicKeys: () => readonly Readonly<Record<string, unknown>>[];
  /** A token for the server whose resource has this uid, good for a minute. */
  readonly token: (uid: string) => Promise<string>;
  /**
   * Authenticates what the operator keeps where other users may write; a MAC of an older key is accepted as long as
   * that key's tokens are.
   */
  readonly mac: Mac;
  /** The keys of `mac`, newest first, for other threads of this process. */
  readonly macKeys: () => readonly Buffer[];
  /** Looks at the Secret again and makes it anew if it is gone. True: the public keys are not what they were. */
  readonly refresh: (signal: AbortSignal) => Promise<boolean>;
}

interface KeysDeps {
  readonly api: Pick<ApiClient, 'get' | 'createOwned'>;
  readonly now: () => number;
}

/** docs/decisions.md "Management port" */
const acceptedAfterMs = 24 * 3_600_000;

/** By then every pod has read of a new key: its file follows within a minute or so. */
const settledMs = 120_000;

/** Reads the keys from their Secret; the first replica that finds none makes one, and the others take that. */
export const managementKeys = async (
  namespace: string,
  deps: KeysDeps,
  signal: AbortSignal,
): Promise<ManagementKeys> => {
  let held = withMacKeys(await readOrMake(namespace, [], deps, signal));
  const accepted = (): readonly KeyWithMacKeys[] =>
    held.filter((_, index) => {
      const successor = held[index - 1];
      return successor === undefined || deps.now() < successor.madeAtMs + acceptedAfterMs;
    });
  const publicKeys = (): readonly JWK[] => accepted().map(publicKeyOf);
  const macKeys = (): readonly Buffer[] => accepted().flatMap((key) => key.macKeys);
  let told = publicKeys();
  return {
    publicKeys,
    mac: hmacWith(macKeys),
    macKeys,
    token: (uid) => managementToken(uid, accepted(), deps.now()),
    refresh: async (refreshSignal) => {
      held = withMacKeys(await readOrMake(namespace, accepted(), deps, refreshSignal));
      const isChanged = !isDeepStrictEqual(told, publicKeys());
      told = publicKeys();
      return isChanged;
    },
  };
};

/** A token for the server whose resource has this uid, good for a minute, by the key that every pod knows. */
export const managementToken = (uid: string, keys: readonly Key[], nowMs: number): Promise<string> =>
  signed(uid, signer(keys, nowMs), nowMs);

interface KeyWithMacKeys extends Key {
  /** Derived once: every plan signs and verifies. */
  readonly macKeys: readonly Buffer[];
}

const withMacKeys = (keys: readonly Key[]): readonly KeyWithMacKeys[] =>
  keys.map((key) => ({ ...key, macKeys: key.jwk.d === undefined ? [] : [macKeyOf(key.jwk.d)] }));

const publicKeyOf = ({ jwk }: Key): JWK => {
  const { d: _, ...publicKey } = jwk;
  return publicKey;
};

/** The newest that every pod knows; while none is that old, the one that they know longest. */
const signer = (keys: readonly Key[], nowMs: number): Key => {
  const key = keys.find(({ madeAtMs }) => nowMs - madeAtMs >= settledMs) ?? keys.at(-1);
  if (key === undefined) {
    throw new Error('there is no key to sign with');
  }
  return key;
};

const signed = async (uid: string, { jwk }: Key, nowMs: number): Promise<string> => {
  const issuedAt = Math.floor(nowMs / 1000);
  return new SignJWT()
    .setProtectedHeader({ alg: 'EdDSA', ...(jwk.kid === undefined ? {} : { kid: jwk.kid }) })
    .setIssuer('vmcp-operator')
    .setAudience(uid)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + 60)
    .sign(await importJWK(jwk, 'EdDSA'));
};

/** A Secret that is made anew begins with a new key; those of `known` go on behind it. */
const readOrMake = async (
  namespace: string,
  known: readonly Key[],
  { api, now }: KeysDeps,
  signal: AbortSignal,
): Promise<readonly Key[]> => {
  const read = async (): Promise<readonly Key[] | undefined> => {
    const secret = await api.get({ kind: 'Secret', namespace, name: secretName }, signal);
    return secret && keysIn(secret);
  };
  const found = await read();
  if (found !== undefined) {
    return found;
  }
  const keys = [await newKey(now()), ...known];
  try {
    await api.createOwned(secretOf(namespace, keys), signal);
    return keys;
  } catch (error) {
    const made = isConflict(error) ? await read() : undefined;
    if (made === undefined) {
      throw error;
    }
    return made;
  }
};
