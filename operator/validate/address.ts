import { isIP } from 'node:net';
import { isForbiddenAddress } from '../../runtime/addresses.ts';
import { type Violation, violation } from './validator.ts';

/** What an address is for, where that decides what it may be. */
export interface AddressUse {
  /** Where to write that TLS is not needed; absent: no matter which. */
  readonly plainNeeds?: string;
  /** RFC 8414 §2: an issuer has neither query nor fragment. */
  readonly isIssuer?: boolean;
}

/** What the text alone says against fetching from an address (decisions "Addresses that may be fetched"). */
export const addressViolations = (
  path: string,
  text: string | undefined,
  { plainNeeds, isIssuer = false }: AddressUse = {},
): readonly Violation[] => {
  if (text === undefined) return [];
  if (!URL.canParse(text)) return [violation(path, 'is no URL', 'write https://, host and path')];
  const url = new URL(text);
  const found = CHECKS.map((check) => check(url)).find((each) => each !== undefined);
  if (found !== undefined) return [violation(path, ...found)];
  if (url.protocol === 'http:' && plainNeeds !== undefined) {
    return [violation(path, 'an address without TLS is not allowed', `use https://, or ${plainNeeds}`)];
  }
  return isIssuer && text.includes('?') ? [violation(path, 'has a query, which no issuer has', 'remove it')] : [];
};

type Words = readonly [reason: string, remedy: string];

const CHECKS: readonly ((url: URL) => Words | undefined)[] = [
  ({ protocol }) => (SPOKEN.has(protocol) ? undefined : [`${protocol}// is not spoken`, 'use https://']),
  ({ username, password }) =>
    username === '' && password === ''
      ? undefined
      : ['holds credentials', 'remove them; a Secret is the place for them'],
  ({ href }) => (href.includes('#') ? ['has a fragment, which no server sees', 'remove it'] : undefined),
  ({ hostname }) =>
    isForbiddenHost(hostname) ? ['is a link-local or metadata address', 'name the address of the service'] : undefined,
];

const SPOKEN: ReadonlySet<string> = new Set(['http:', 'https:']);

const METADATA_NAMES: ReadonlySet<string> = new Set(['metadata', 'metadata.google.internal']);

/** `hostname` as `URL` has it. */
export const isForbiddenHost = (hostname: string): boolean => {
  const host = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  return isIP(host) === 0 ? METADATA_NAMES.has(host) : isForbiddenAddress(host);
};
