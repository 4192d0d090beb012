import type { Challenge } from '../errors.ts';

/**
 * The value of `WWW-Authenticate` (RFC 9110 §11.6.1, RFC 6750 §3), without a realm. Characters that no header may hold
 * are left out, so that a parameter ends neither its text nor the header.
 */
export const bearerChallenge = (parameters: Challenge = {}): string => {
  const texts = Object.entries(parameters)
    .filter(([name, value]) => TOKEN.test(name) && typeof value === 'string')
    .map(([name, value]) => `${name}=${quoted(value.slice(0, MAX_CHARACTERS))}`);
  return texts.length === 0 ? 'Bearer' : `Bearer ${texts.join(', ')}`;
};

/** RFC 9110 §5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Longest parameter: clients and proxies limit the size of a head, often to 8 KiB. */
const MAX_CHARACTERS = 2_048;

/** RFC 9110 §5.6.4. Clients disagree about the text of bytes beyond ASCII, which its grammar allows. */
const quoted = (value: string): string => `"${value.replaceAll(/[^ -~]/g, '').replaceAll(/["\\]/g, String.raw`\$&`)}"`;
