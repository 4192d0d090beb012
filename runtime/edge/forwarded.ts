import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { networksOf } from '../config/index.ts';

/** The address that sent a request, and the host it was sent to, as far as trusted proxies tell. */
export interface Sender {
  readonly address: string | undefined;
  /** In the form of a Host header. */
  readonly host: string | undefined;
}

/** Finds the sender of a request by the address of its connection (`peer`) and its headers. */
export type SenderOf = (peer: string | undefined, headers: IncomingHttpHeaders) => Sender;

/**
 * Believes what trusted proxies forward (`Forwarded`, RFC 7239; else `X-Forwarded-For` and `-Host`), and no other
 * headers: the client is the last address on the way that is no trusted proxy's. A proxy that writes one of the two
 * families and lets the client's own headers of the other pass must not be fooled with: where both are given and
 * differ, neither counts.
 */
export const senderBehind = (trusted: readonly string[]): SenderOf => {
  if (trusted.length === 0) return (address, { host }) => ({ address, host });
  const contains = networksOf(trusted);
  const isTrusted = (address: string | undefined): boolean => address !== undefined && contains(address);
  return (peer, headers) => {
    const direct = { address: peer, host: headers.host };
    if (!isTrusted(peer)) return direct;
    const told = [standardHops(headers.forwarded), customaryHops(headers)].filter((hops) => hops.length > 0);
    const [sender = direct, other = sender] = told.map((hops) => senderIn(hops, direct, isTrusted));
    return sender.address === other.address && sender.host === other.host ? sender : direct;
  };
};

/** What one proxy says about the sender it had the request from. */
interface Hop {
  readonly address: string | undefined;
  readonly host: string | undefined;
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
  for (const { address, host } of hops.toReversed()) {
    sender = { address: address ?? sender.address, host: host ?? sender.host };
    if (!isTrusted(address)) break;
  }
  return sender;
};

const MAX_HOPS = 32;

/** RFC 7239 §4: elements by commas, pairs by semicolons, values maybe quoted. */
const standardHops = (header: string | undefined): readonly Hop[] =>
  lastPieces(header ?? '', ',', MAX_HOPS).map((element) => {
    const pairs = new Map(lastPieces(element, ';', MAX_PAIRS).map(pairIn));
    return { address: addressIn(pairs.get('for')), host: pairs.get('host') };
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

/** The nearest proxy names the host; each proxy adds the address that it had the request from. */
const customaryHops = (headers: IncomingHttpHeaders): readonly Hop[] => {
  const host = listIn(headers['x-forwarded-host']).at(-1);
  const addresses = listIn(headers['x-forwarded-for']).slice(-MAX_HOPS).map(addressIn);
  if (addresses.length === 0) return host === undefined ? [] : [{ address: undefined, host }];
  return addresses.map((address, index) => ({ address, host: index === addresses.length - 1 ? host : undefined }));
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
