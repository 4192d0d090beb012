import { isObject, readObject, skipSpace, skipValue, type Span } from '../json-bytes.ts';
import { RESERVED_PREFIX } from './envelope.ts';

export interface ModernMembers {
  /** JSON text of our `serverInfo`. */
  readonly serverInfo: string;
  /** JSON text of the members that say how long the result may be kept; absent for results that have none. */
  readonly caching?: string;
}

interface Member {
  readonly key: string;
  readonly value: Span;
}

/**
 * A JSON-RPC response as 2026-07-28 has it: the result says what kind it is and whose, and how long it may be kept. Everything else is
 * as the backend wrote it. Errors stay as they are.
 */
export const modernResponse = (response: Buffer, members: ModernMembers): Buffer => {
  const span = memberOf(response, skipSpace(response, 0), 'result');
  if (!span || !isObject(response, span.start)) return response;
  const result = modernResult(response.subarray(span.start, span.end), members);
  return Buffer.concat([response.subarray(0, span.start), result, response.subarray(span.end)]);
};

/** The same for the JSON text of a result alone. */
export const modernResult = (result: Buffer, { serverInfo, caching }: ModernMembers): Buffer => {
  const members = membersOf(result, 0);
  const resultType = members.find(({ key }) => key === 'resultType');
  const meta = members.find(({ key }) => key === '_meta');
  const kept = members.filter(({ key }) => key !== '_meta' && (caching === undefined || !CACHING.has(key)));
  const texts = [
    ...(resultType ? [] : ['"resultType":"complete"']),
    ...(caching === undefined ? [] : [caching]),
    `"_meta":${metaOf(result, meta?.value, serverInfo)}`,
  ];
  return objectOf(result, texts, kept);
};

const CACHING: ReadonlySet<string> = new Set(['ttlMs', 'cacheScope']);

/** A backend's own reserved members are about the hop to it. */
const metaOf = (result: Buffer, meta: Span | undefined, serverInfo: string): string => {
  const own = `"${RESERVED_PREFIX}serverInfo":${serverInfo}`;
  if (!meta || !isObject(result, meta.start)) return `{${own}}`;
  const kept = membersOf(result, meta.start).filter(({ key }) => !isOurs(key));
  return objectOf(result, [own], kept).toString();
};

/** Only the server's identity is the gateway's to say; other reserved members mean the same on both hops. */
const isOurs = (key: string): boolean => key === `${RESERVED_PREFIX}serverInfo`;

const objectOf = (bytes: Buffer, texts: readonly string[], members: readonly Member[]): Buffer => {
  const pieces: Buffer[] = [Buffer.from(`{${texts.join(',')}`)];
  for (const { key, value } of members)
    pieces.push(Buffer.from(`,${JSON.stringify(key)}:`), bytes.subarray(value.start, value.end));
  pieces.push(Buffer.from('}'));
  return Buffer.concat(pieces);
};

const membersOf = (bytes: Buffer, at: number): Member[] => {
  const members: Member[] = [];
  readObject(bytes, at, (key, start) => {
    const end = skipValue(bytes, start);
    members.push({ key, value: { start, end } });
    return end;
  });
  return members;
};

const memberOf = (bytes: Buffer, at: number, name: string): Span | undefined =>
  membersOf(bytes, at).findLast(({ key }) => key === name)?.value;
