import { isIP } from 'node:net';
import { isForbiddenAddress } from '../../runtime/http/index.ts';
import { type Violation, violation } from './validator.ts';

/** What an address is for, where that decides what it may be. */
export interface AddressUse {
  readonly needsTls?: boolean;
  /** RFC 8414 §2: an issuer has neither query nor fragment. */
  readonly isIssuer?: boolean;
}

/** What the text alone says against fetching from an address (docs/decisions.md "Addresses that may be fetched"). */
export const addressViolations = (
  path: string,
  text: string | undefined,
  { needsTls = false, isIssuer = false }: AddressUse = {},
): readonly Violation[] => {
  if (text === undefined) return [];
  if (!URL.canParse(text)) return [violation(path, 'is no URL', 'write https://, host and path')];
  const url = new URL(text);
  // An empty one counts, too.
  const found = addressProblem(url, REMEDIES, text.includes('#'));
  if (found !== undefined) return [violation(path, ...found)];
  if (url.protocol === 'http:' && needsTls) {
    return [violation(path, 'an address without TLS is not allowed', REMEDIES.protocol)];
  }
  return isIssuer && text.includes('?') ? [violation(path, 'has a query, which no issuer has', 'remove it')] : [];
};

/** What to do about it, which depends on whose address it is. */
export interface Remedies {
  readonly protocol: string;
  readonly credentials: string;
  readonly host: string;
}

const REMEDIES: Remedies = {
  protocol: 'use https://',
  credentials: 'remove them; a Secret is the place for them',
  host: 'name the address of the service',
};

/** Why an address may not be contacted, with the remedy; undefined for one that may. */
export const addressProblem = (
  { protocol, username, password, hash, hostname }: URL,
  remedies: Remedies,
  hasFragment = hash !== '',
): readonly [reason: string, remedy: string] | undefined => {
  if (!SPOKEN.has(protocol)) return [`${protocol}// is not spoken`, remedies.protocol];
  if (username !== '' || password !== '') return ['holds credentials', remedies.credentials];
  if (hasFragment) return ['has a fragment, which no server sees', 'remove it'];
  return isForbiddenHost(hostname) ? ['is a link-local or metadata address', remedies.host] : undefined;
};

const SPOKEN: ReadonlySet<string> = new Set(['http:', 'https:']);

const METADATA_NAMES: ReadonlySet<string> = new Set(['metadata', 'metadata.google.internal']);

/** `hostname` as `URL` has it. */
const isForbiddenHost = (hostname: string): boolean => {
  const host = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  return isIP(host) === 0 ? METADATA_NAMES.has(host) : isForbiddenAddress(host);
};
