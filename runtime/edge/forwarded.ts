import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { networksOf } from '../config/index.ts';

/** The address that sent a request, and how and to which host, as far as trusted proxies tell. */
export interface Sender {
  readonly address: string | undefined;
  /** In the form of a Host header. */
  readonly host: string | undefined;
  readonly scheme: Scheme;
}

type Scheme = 'http' | 'https';

/** Scheme and host that the client has used; undefined where no host is known. */
export const requestedOrigin = ({ scheme, host }: Sender): string | undefined =>
  host === undefined ? undefined : `${scheme}://${host}`;

/** Finds the sender of a request by the address of its connection (`peer`) and its headers. */
export type SenderOf = (peer: string | undefined, headers: IncomingHttpHeaders) => Sender;

/**
 * Believes what trusted proxies forward (`Forwarded`, RFC 7239; else `X-Forwarded-For`, `-Host` and `-Proto`), and no
 * other headers: the client is the last address on the way that is no trusted proxy's. A proxy that writes one of the
 * two families and lets the client's own headers of the other pass must not be fooled with: where both are given and
 * differ, neither counts.
 */
export const senderBehind = (trusted: readonly string[]): SenderOf => {
  if (trusted.length === 0) return (address, { host }) => ({ address, host, scheme: 'http' });
  const contains = networksOf(trusted);
  const isTrusted = (address: string | undefined): boolean => address !== undefined && contains(address);
  return (peer, headers) => {
    const direct: Sender = { address: peer, host: headers.host, scheme: 'http' };
    if (!isTrusted(peer)) return direct;
    const told = [standardHops(headers.forwarded), customaryHops(headers)].filter((hops) => hops.length > 0);
    const [sender = direct, other = sender] = told.map((hops) => senderIn(hops, direct, isTrusted));
    if (sender.address !== other.address || sender.host !== other.host) return direct;
    return sender.scheme === other.scheme ? sender : { ...sender, scheme: 'http' };
  };
};

/** What one proxy says about the sender it had the request from. */
interface Hop {
  readonly address: string | undefined;
  readonly host: string | undefined;
  readonly scheme: Scheme | undefined;
}

/**
 * The sender found by going from the nearest proxy back to the first address that is not trusted; entries before that
 * one are not read.
 */
const senderIn = (
  hops: readonly Hop[],
  direct: Sender,
  isTrusted: (address: string | undefined) => boolean,
): Sender => {
  let sender = direct;
  for (const { address, host, scheme } of hops.toReversed()) {
    sender = { address: address ?? sender.address, host: host ?? sender.host, scheme: scheme ?? sender.scheme };
    if (!isTrusted(address)) break;
  }
  return sender;
};

const MAX_HOPS = 32;

/** RFC 7239 §4: elements by commas, pairs by semicolons, values maybe quoted. */
const standardHops = (header: string | undefined): readonly Hop[] =>
  lastPieces(header ?? '', ',', MAX_HOPS).map((element) => {
    const pairs = new Map(lastPieces(element, ';', MAX_PAIRS).map(pairIn));
    return { address: addressIn(pairs.get('for')), host: pairs.get('host'), scheme: schemeIn(pairs.get('proto')) };
  });

/** RFC 7239 §5 has four. */
const MAX_PAIRS = 16;

/**
 * The last pieces of a text between separators that are not quoted, in order, empty ones left out. Read from the end,
 * where the nearest proxy has written: a quote that an untrusted sender leaves open before that cannot swallow the
 * proxy's part.
 */
const lastPieces = (text: string, separator: string, most: number): readonly string[] => {
  const pieces: string[] = [];
  let end = text.length;
  let isQuoted = false;
  for (let i = text.length - 1; i >= -1 && pieces.length < most; i -= 1) {
    if (text[i] === '"' && !(isQuoted && isEscaped(text, i))) isQuoted = !isQuoted;
    if (i !== -1 && (isQuoted || text[i] !== separator)) continue;
    const piece = text.slice(i + 1, end).trim();
    if (piece !== '') pieces.push(piece);
    end = i;
  }
  return pieces.toReversed();
};

/** Whether an odd number of backslashes stands before it. */
const isEscaped = (text: string, at: number): boolean => {
  let i = at - 1;
  while (text[i] === '\\') i -= 1;
  return (at - 1 - i) % 2 === 1;
};

const pairIn = (pair: string): readonly [name: string, value: string] => {
  const [, name = '', quoted, plain = ''] = /^([A-Za-z]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]+))$/.exec(pair) ?? [];
  return [name.toLowerCase(), quoted?.replaceAll(/\\(.)/g, '$1') ?? plain];
};

/** The nearest proxy names host and scheme; each proxy adds the address that it had the request from. */
const customaryHops = (headers: IncomingHttpHeaders): readonly Hop[] => {
  const host = listIn(headers['x-forwarded-host']).at(-1);
  const scheme = schemeIn(listIn(headers['x-forwarded-proto']).at(-1));
  const addresses = listIn(headers['x-forwarded-for']).slice(-MAX_HOPS).map(addressIn);
  if (addresses.length === 0)
    return host === undefined && scheme === undefined ? [] : [{ address: undefined, host, scheme }];
  const nearest = addresses.length - 1;
  return addresses.map((address, index) =>
    index === nearest ? { address, host, scheme } : { address, host: undefined, scheme: undefined },
  );
};

const schemeIn = (text: string | undefined): Scheme | undefined => {
  const scheme = text?.toLowerCase();
  return scheme === 'https' || scheme === 'http' ? scheme : undefined;
};

const listIn = (header: string | readonly string[] | undefined): readonly string[] =>
  [header ?? []]
    .flat()
    .flatMap((line) => line.split(','))
    .map((item) => item.trim())
    .filter((item) => item !== '');

/** Without brackets and port; undefined for `unknown` and for names that hide an address (RFC 7239 §6). */
const addressIn = (node: string | undefined): string | undefined => {
  if (node === undefined) return undefined;
  const [, bracketed, plain] = /^(?:\[([^\]]+)\](?::\d+)?|([^:]+)(?::\d+)?)$/.exec(node) ?? [];
  const address = bracketed ?? plain ?? node;
  return isIP(address) === 0 ? undefined : address;
};
