import { isIP } from 'node:net';
import { isForbiddenAddress } from '../../runtime/addresses.ts';

/**
 * What is wrong with the URL of a backend, with the remedy; undefined when it may be contacted. Only what the text alone
 * tells: a name that resolves to such an address is refused when it is connected to (decisions "Addresses that may be fetched").
 */
export const urlProblem = (text: string): string | undefined => {
  if (!URL.canParse(text)) return 'is no URL; write http:// or https://, host and path';
  const url = new URL(text);
  return CHECKS.map((check) => check(url)).find((found) => found !== undefined);
};

const CHECKS: readonly ((url: URL) => string | undefined)[] = [
  ({ protocol }) =>
    protocol === 'http:' || protocol === 'https:' ? undefined : `${protocol}// is not spoken; use http:// or https://`,
  ({ username, password }) =>
    username === '' && password === ''
      ? undefined
      : 'holds credentials; remove them, and let externalAuthConfigRef name a Secret',
  ({ hash }) => (hash === '' ? undefined : 'has a fragment, which no server sees; remove it'),
  ({ hostname }) =>
    isForbidden(hostname) ? 'is a link-local or metadata address; name the address of the MCP server' : undefined,
];

const METADATA_NAMES: ReadonlySet<string> = new Set(['metadata', 'metadata.google.internal']);

const isForbidden = (hostname: string): boolean => {
  const host = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  return isIP(host) === 0 ? METADATA_NAMES.has(host) : isForbiddenAddress(host);
};
