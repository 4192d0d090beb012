/**
 * Conversions of texts that the package takes for values of a type, although the language does not: an empty text would
 * be the number 0, and the 30th of February the 2nd of March (cel-spec, langdef.md "Type Conversions"). A claim that is
 * no number has to make a condition fail, or `!(double(claims.level) > 3.0)` would hold for it.
 */
const ACCEPTED: Readonly<Record<string, (text: string) => boolean>> = {
  int: (text) => /^[+-]?\d+$/.test(text),
  uint: (text) => /^\d+$/.test(text),
  double: (text) =>
    /^(?:NaN|[+-]?Infinity)$/.test(text) ||
    (/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text) && Number.isFinite(Number(text))),
  timestamp: (text) => isTime(text),
  duration: (text) => /\d/.test(text),
};

const isTime = (text: string): boolean => {
  const [, date = '', hour] = /^(\d{4}-\d\d-\d\d)T(\d\d):/.exec(text) ?? [];
  const midnight = new Date(`${date}T00:00:00Z`);
  return Number(hour) < 24 && !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(date);
};

/** Seconds since 1970 of the years 1 to 9999. */
const [EARLIEST, LATEST] = [-62_135_596_800n, 253_402_300_799n];

/** The package takes them for milliseconds. */
const millisecondsOf = (seconds: bigint): bigint => {
  if (seconds < EARLIEST || seconds > LATEST) throw new Error('no timestamp');
  return seconds * 1_000n;
};

/** What a function of the package gets for its argument. Throws for a value that is none of its type. */
export const convertible = <V>(name: string, value: V): V => {
  if (typeof value === 'string' && ACCEPTED[name]?.(value) === false) throw new Error(`no ${name}`);
  return name === 'timestamp' && typeof value === 'bigint' ? (millisecondsOf(value) as V) : value;
};
