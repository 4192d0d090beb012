/** A header, its name as it is sent. */
export type Header = readonly [name: string, value: string];

/** Caches, proxies and tracing may change these on the way; the connection is another one for each hop. */
const UNSIGNED = new Set(
  `authorization baggage cache-control connection content-length expect from keep-alive max-forwards pragma referer te
   traceparent tracestate trailer transfer-encoding upgrade user-agent x-amzn-trace-id`.split(/\s+/),
);
const isSigned = (name: string): boolean => !UNSIGNED.has(name) && !/^(?:proxy|sec)-/.test(name);

/** The headers that are signed, and their names. */
export const canonicalHeaders = (headers: readonly Header[]): { readonly text: string; readonly names: string } => {
  const values = new Map<string, string[]>();
  for (const [name, value] of headers) {
    const key = name.toLowerCase();
    if (isSigned(key)) values.set(key, [...(values.get(key) ?? []), value.trim().replaceAll(/\s+/g, ' ')]);
  }
  const sorted = [...values].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    text: sorted.map(([name, all]) => `${name}:${all.join(',')}\n`).join(''),
    names: sorted.map(([name]) => name).join(';'),
  };
};

/** RFC 3986 §2.3 leaves more characters as they are than `encodeURIComponent` escapes. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);

/** Path and query as they are signed: the path, which is encoded as it is sent, is encoded once more. */
export const canonicalTarget = (target: string): readonly [path: string, query: string] => {
  const [, path = '', query = ''] = /^([^?]*)\??(.*)$/s.exec(target) ?? [];
  const segments: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(encoded(segment));
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

/** What is no encoding is taken as it is written. */
const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};
