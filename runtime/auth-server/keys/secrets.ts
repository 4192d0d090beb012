import { hkdfSync } from 'node:crypto';
import { keysUnusable } from './keys-unusable.ts';

/** The HMAC secrets: the current one first, then those that only verify what was made before a rotation. */
export type Secrets = () => Promise<readonly Buffer[]>;

/** RFC 7518 §3.2: a key is at least as long as the hash. */
export const MIN_SECRET_BYTES = 32;

const KEY_BYTES = 32;

/** The key for one purpose (HKDF with SHA-256, RFC 5869), so that no key serves two. */
export const deriveKey = (secret: Buffer, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, Buffer.alloc(0), `vmcp authorization server: ${purpose}`, KEY_BYTES));

/** What is made of a secret, made once for each for as long as its buffer is in use. */
export const oncePerSecret = <T>(make: (secret: Buffer) => T): ((secret: Buffer) => T) => {
  const known = new WeakMap<Buffer, { readonly made: T }>();
  return (secret) => {
    const one = known.get(secret) ?? { made: make(secret) };
    known.set(secret, one);
    return one.made;
  };
};

/** Undefined: there is no such file. */
export type ReadBytes = (path: string) => Promise<Buffer | undefined>;

/** The secrets in the contents of these files. Throws `issuer_unavailable`. */
export const secretsIn = (contents: readonly (Buffer | undefined)[]): readonly Buffer[] => {
  const secrets = contents.map(secretIn);
  const [current] = secrets;
  if (current === undefined) throw keysUnusable('the current HMAC secret is missing');
  if (isTooShort(current)) throw keysUnusable(TOO_SHORT);
  return secrets.filter((each) => each !== undefined);
};

/** Whether this secret may not mint anything. */
export const isTooShort = (secret: Buffer): boolean => secret.length < MIN_SECRET_BYTES;

export const TOO_SHORT = `the current HMAC secret has fewer than ${MIN_SECRET_BYTES} bytes`;

/**
 * The secret in a file, without the newline that editors add to a text; of other bytes, a last one that is a newline
 * belongs to them.
 */
export const secretIn = (bytes: Buffer | undefined): Buffer | undefined => {
  if (bytes === undefined || bytes.length === 0) return undefined;
  const text = /^([\x20-\x7e\t]*)\r?\n$/.exec(bytes.toString('latin1'))?.[1];
  return text === undefined ? bytes : text === '' ? undefined : Buffer.from(text);
};
