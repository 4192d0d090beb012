import type { Clock, SecretSource } from '../process/index.ts';
import { noCredential, type Named } from './refusals.ts';
import type { StrategyDeps } from './strategy.ts';

/** Where the secret is written: at most one of the three. */
export interface WrittenSecret {
  /** The secret itself. */
  readonly literal?: string | undefined;
  readonly source?: SecretSource | undefined;
}

/** A secret that may change at any time. */
export interface RotatingSecret {
  /** Throws `credential_unavailable` where it is missing, empty, or no text that fits into a header. */
  readonly current: () => string | Promise<string>;
  /** Reads it at once; undefined where it still is what the backend has refused. */
  readonly renewed: (refused: string) => Promise<string | undefined>;
}

/**
 * How long a secret is used before it is read again: hundreds of requests a second must not open a file each. A backend
 * that refuses the old value in that time makes the gateway read the new one at once.
 */
const FRESH_MS = 1_000;

/** Many servers take no more for all headers together. */
const LONGEST = 16 * 1024;

/** RFC 9110 §5.5, without the bytes that nothing says the meaning of; no line breaks, so that no header is added. */
const HEADER_TEXT = /^[\t\x20-\x7e\x80-\xff]+$/;

/** RFC 6750 §2.1 allows less; tokens of real services have all of these. */
const TOKEN_TEXT = /^[\x21-\x7e]+$/;

export interface SecretOf {
  readonly of: Named;
  /** Names the secret in errors: `the header value`. */
  readonly what: string;
  readonly form: 'header value' | 'token';
}

export const rotatingSecret = (
  { literal, source = {} }: WrittenSecret,
  { of, what, form }: SecretOf,
  { readSecret, clock }: Pick<StrategyDeps, 'readSecret'> & { readonly clock: Pick<Clock, 'now'> },
): RotatingSecret => {
  const pattern = form === 'token' ? TOKEN_TEXT : HEADER_TEXT;
  let kept: { readonly value: string; readonly readAt: number } | undefined;
  let reading: Promise<string> | undefined;
  const read = async (): Promise<string> => {
    const value = literal ?? (await readable(source));
    if (value === undefined || value === '') throw noCredential(of, `${what} is missing or empty`);
    if (value.length > LONGEST) throw noCredential(of, `${what} is longer than ${LONGEST} characters`);
    if (!pattern.test(value)) throw noCredential(of, `${what} has characters that it may not have`);
    kept = { value, readAt: clock.now() };
    return value;
  };
  const readable = async (from: SecretSource): Promise<string | undefined> => {
    try {
      return await readSecret(from);
    } catch (cause) {
      throw noCredential(of, `${what} cannot be read`, { cause });
    }
  };
  const once = (): Promise<string> => {
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading;
  };
  const isFresh = (readAt: number): boolean => Math.abs(clock.now() - readAt) < FRESH_MS;
  return {
    current: () => (kept && isFresh(kept.readAt) ? kept.value : once()),
    renewed: async (refused) => {
      // Another call may have renewed it since the refused one was sent.
      if (kept && kept.value !== refused && isFresh(kept.readAt)) return kept.value;
      const value = await once();
      return value === refused ? undefined : value;
    },
  };
};
