/** Header fields of a response, names in lower case. */
type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * How long an answer may be used, by its header fields (RFC 9111 §4.2, of a cache that only this server uses): seconds;
 * 0 where it must be asked for again or nothing is said.
 */
export const cacheLifetimeSeconds = (headers: Headers, nowMs: number): number => {
  const directives = new Map(textOf(headers['cache-control']).split(',').map(directiveIn));
  if (directives.has('no-store') || directives.has('no-cache')) return 0;
  const maxAge = directives.get('max-age');
  if (maxAge !== undefined) return Math.max(0, secondsIn(maxAge) - secondsIn(textOf(headers['age'])));
  const expires = Date.parse(textOf(headers['expires']));
  return Number.isNaN(expires) ? 0 : Math.max(0, Math.floor((expires - nowMs) / 1000));
};

const textOf = (value: string | readonly string[] | undefined): string =>
  typeof value === 'string' ? value : (value ?? []).join(',');

const directiveIn = (text: string): readonly [name: string, value: string] => {
  const [name = '', value = ''] = text.trim().toLowerCase().split('=', 2);
  return [name, value.replaceAll('"', '')];
};

/** RFC 9111 §1.2.2: whole, and a value that cannot be read counts as none at all. */
const secondsIn = (text: string): number => (/^\d{1,10}$/.test(text) ? Number(text) : 0);
