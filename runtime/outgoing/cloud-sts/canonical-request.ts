/** A header, its name as it is sent. */
export type Header = readonly [name: string, value: string];

/** Caches, proxies and tracing may change these on the way; the connection is another one for each hop. */
const UNSIGNED = new Set(
  `authorization baggage cache-control connection content-length expect from keep-alive max-forwards pragma referer te
   traceparent tracestate trailer transfer-encoding upgrade user-agent x-amzn-trace-id`.split(/\s+/),
);
const isSigned = (name: string): boolean => !UNSIGNED.has(name) && !/^(?:proxy|sec)-/.test(name);

/** Without spaces around it, and with one for several; whitespace in headers is space and tab (RFC 9110 §5.6.3). */
export const trimmedAll = (value: string): string => value.replaceAll(/[ \t]+/g, ' ').replaceAll(/^ | $/g, '');

/** The headers that are signed, and their names. */
export const canonicalHeaders = (headers: readonly Header[]): { readonly text: string; readonly names: string } => {
  const values = new Map<string, string[]>();
  for (const [name, value] of headers) {
    const key = name.toLowerCase();
    if (isSigned(key)) values.set(key, [...(values.get(key) ?? []), trimmedAll(value)]);
  }
  const sorted = [...values].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    text: sorted.map(([name, all]) => `${name}:${all.join(',')}\n`).join(''),
    names: sorted.map(([name]) => name).join(';'),
  };
};

/** Bytes as a text of as many characters; what is no Unicode is replaced, as it is when it is sent. */
const bytesOf = (text: string): string => Buffer.from(text).toString('latin1');

/** `UriEncode`: every byte but the unreserved characters of RFC 3986 §2.3. */
const encoded = (bytes: string): string =>
  bytes.replaceAll(/[^A-Za-z0-9._~-]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);

/** Path and query as they are signed: the path, which is encoded as it is sent, is encoded once more. */
export const canonicalTarget = (target: string): readonly [path: string, query: string] => {
  const [, path = '', query = ''] = /^([^?]*)\??(.*)$/s.exec(target) ?? [];
  const segments: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(encoded(bytesOf(segment)));
  }
  const end = segments.length > 0 && path.endsWith('/') ? '/' : '';
  return [`/${segments.join('/')}${end}`, canonicalQuery(query)];
};

const canonicalQuery = (query: string): string =>
  query
    .split('&')
    .filter((each) => each !== '')
    .map((each) => {
      const [, name = '', value = ''] = /^([^=]*)=?(.*)$/s.exec(each) ?? [];
      return [encoded(decoded(name)), encoded(decoded(value))] as const;
    })
    .toSorted(([a, x], [b, y]) => (a === b ? compare(x, y) : compare(a, b)))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

/** Bytes need be no UTF-8 (`%ff`). What is no encoding is taken as it is written. */
const decoded = (text: string): string =>
  bytesOf(text).replaceAll(/%([0-9A-Fa-f]{2})/g, (_all, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
