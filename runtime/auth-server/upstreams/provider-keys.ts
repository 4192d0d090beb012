import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { GuardedFetch } from '../../http/index.ts';
import type { Clock } from '../../process/index.ts';
import { askProvider, objectIn } from './provider-http.ts';
import { unavailable } from './upstream.ts';

/** The public keys of a provider. */
export interface ProviderKeys {
  /** The key for a token. Throws what jose throws where there is none, and UpstreamError while there are no keys. */
  readonly findKey: (jwksUri: string) => JWTVerifyGetKey;
}

/** Age at which keys are fetched again, so that a withdrawn key is no longer taken. */
export const KEYS_AGE_MS = 600_000;
/** Time between fetches for keys that are not known: tokens come from the provider itself, never from strangers. */
export const KEYS_COOL_DOWN_MS = 1_000;
/** Keys of one provider at most. */
const MAX_KEYS = 100;

interface Known {
  readonly uri: string;
  readonly at: number;
  readonly findKey: JWTVerifyGetKey;
}

/** Keys that are fetched at the first use, when they are old, and for a key that is not known. */
export const providerKeys = (fetch: GuardedFetch, { now }: Pick<Clock, 'now'>): ProviderKeys => {
  let known: Known | undefined;
  let attempt: { readonly uri: string; readonly keys: Promise<Known> } | undefined;
  const fetchNow = async (uri: string): Promise<Known> => {
    const { status, body } = await askProvider(fetch, WHAT, { url: uri, headers: { accept: 'application/json' } });
    if (status !== 200) throw unavailable(`http_${status}`, `${WHAT}: HTTP ${status}`);
    known = { uri, at: now(), findKey: createLocalJWKSet(keySetIn(body.toString())) };
    return known;
  };
  const fetched = (uri: string): Promise<Known> => {
    if (attempt?.uri !== uri) {
      const keys = fetchNow(uri).finally(() => {
        if (attempt?.keys === keys) attempt = undefined;
      });
      attempt = { uri, keys };
    }
    return attempt.keys;
  };
  const current = async (uri: string): Promise<Known> => {
    if (known?.uri !== uri) return fetched(uri);
    if (now() - known.at < KEYS_AGE_MS) return known;
    const older = known;
    return fetched(uri).catch(() => older);
  };
  return {
    findKey: (uri) => async (header, token) => {
      const keys = await current(uri);
      try {
        return await keys.findKey(header, token);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey) || now() - keys.at < KEYS_COOL_DOWN_MS) throw error;
        const newer = await fetched(uri);
        return newer.findKey(header, token);
      }
    },
  };
};

const WHAT = 'the keys of the provider';

/** Without what no asymmetric signature is verified with. */
const keySetIn = (text: string): JSONWebKeySet => {
  const { keys } = objectIn(WHAT, text);
  if (!Array.isArray(keys)) throw unavailable('not_json', `${WHAT}: the answer is no key set`);
  const usable = keys.filter(
    (key: unknown) => typeof key === 'object' && key !== null && 'kty' in key && key.kty !== 'oct',
  );
  return { keys: usable.slice(0, MAX_KEYS) as JSONWebKeySet['keys'] };
};
