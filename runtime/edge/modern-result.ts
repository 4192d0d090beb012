import { isObject, skipSpace, type Span } from '../json-bytes.ts';
import { memberAt, membersOf, objectOf } from '../json-members.ts';
import { RESERVED_PREFIX } from './envelope.ts';

export interface ModernMembers {
  /** JSON text of our `serverInfo`. */
  readonly serverInfo: string;
  /** JSON text of the members that say how long the result may be kept; absent for results that have none. */
  readonly caching?: string;
}

/**
 * A JSON-RPC response as 2026-07-28 has it: the result says what kind it is and whose, and how long it may be kept. Everything else is
 * as the backend wrote it. Errors stay as they are.
 */
export const modernResponse = (response: Buffer, members: ModernMembers): Buffer => {
  const span = memberAt(response, skipSpace(response, 0), 'result');
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
  return objectOf(texts, result, kept);
};

const CACHING: ReadonlySet<string> = new Set(['ttlMs', 'cacheScope']);

/** A backend's own reserved members are about the hop to it. */
const metaOf = (result: Buffer, meta: Span | undefined, serverInfo: string): string => {
  const own = `"${RESERVED_PREFIX}serverInfo":${serverInfo}`;
  if (!meta || !isObject(result, meta.start)) return `{${own}}`;
  const kept = membersOf(result, meta.start).filter(({ key }) => !isOurs(key));
  return objectOf([own], result, kept).toString();
};

/** Only the server's identity is the gateway's to say; other reserved members mean the same on both hops. */
const isOurs = (key: string): boolean => key === `${RESERVED_PREFIX}serverInfo`;
