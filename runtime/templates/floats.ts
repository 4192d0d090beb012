/**
 * Numbers as Go's strconv writes them. JavaScript's own `toFixed` and its like round halves up and end at 100 digits;
 * Go rounds the exact value, halves to even.
 */

/** `digits` without zeros at either end, to be read as `0.<digits> × 10^point`. */
interface Decimal {
  readonly digits: string;
  readonly point: number;
}

export type FloatFormat = 'e' | 'f' | 'g';

/** A finite number's digits after `format`; without a precision the fewest that tell it from all others. No sign. */
export const formatFloat = (value: number, format: FloatFormat, precision?: number): string => {
  const size = Math.abs(value);
  if (format === 'e') {
    const decimal = precision === undefined ? shortest(size) : rounded(exact(size), precision + 1);
    return scientific(decimal, precision ?? Math.max(decimal.digits.length - 1, 0));
  }
  if (format === 'f') {
    const decimal = precision === undefined ? shortest(size) : roundedAfterPoint(exact(size), precision);
    return plain(decimal, precision ?? Math.max(decimal.digits.length - decimal.point, 0));
  }
  const wanted = precision === 0 ? 1 : precision;
  const decimal = wanted === undefined ? shortest(size) : rounded(exact(size), wanted);
  const { length } = decimal.digits;
  const exponent = decimal.point - 1;
  if (exponent < -4 || exponent >= largestPlainExponent(decimal, wanted))
    return scientific(decimal, Math.max(length - 1, 0));
  return plain(decimal, Math.max(length - decimal.point, 0));
};

/** From this exponent on `%g` writes one: a million is `1e+06`. */
const largestPlainExponent = ({ digits, point }: Decimal, precision: number | undefined): number => {
  if (precision === undefined) return 6;
  return precision > digits.length && digits.length >= point ? digits.length : precision;
};

const shortest = (size: number): Decimal => {
  const [digits = '', exponent = '0'] = size.toExponential().split('e');
  return trimmed(digits.replace('.', ''), Number(exponent) + 1);
};

const trimmed = (digits: string, point: number): Decimal => {
  let from = 0;
  while (digits[from] === '0') from += 1;
  let to = digits.length;
  while (to > from && digits[to - 1] === '0') to -= 1;
  return from === to ? { digits: '', point: 0 } : { digits: digits.slice(from, to), point: point - from };
};

/** All digits: a double is an integer times a power of two, so its decimal form ends. */
const exact = (size: number): Decimal => {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, size);
  const raw = bits.getBigUint64(0);
  const biased = Number(raw >> 52n);
  const fraction = raw & ((1n << 52n) - 1n);
  const mantissa = biased === 0 ? fraction : fraction | (1n << 52n);
  const exponent = Math.max(biased, 1) - 1075;
  if (exponent >= 0) {
    const digits = (mantissa << BigInt(exponent)).toString();
    return trimmed(digits, digits.length);
  }
  const digits = (mantissa * 5n ** BigInt(-exponent)).toString();
  return trimmed(digits, digits.length + exponent);
};

const roundedAfterPoint = (decimal: Decimal, places: number): Decimal => rounded(decimal, decimal.point + places);

const rounded = ({ digits, point }: Decimal, count: number): Decimal => {
  if (count < 0) return { digits: '', point: 0 };
  if (count >= digits.length) return { digits, point };
  const kept = digits.slice(0, count);
  if (!isRoundedUp(kept, digits.slice(count))) return trimmed(kept, point);
  const up = (BigInt(kept === '' ? '0' : kept) + 1n).toString();
  return trimmed(up, point + up.length - count);
};

const isRoundedUp = (kept: string, rest: string): boolean => {
  if (rest.charAt(0) !== '5' || rest.length > 1) return rest.charAt(0) >= '5';
  return Number(kept.at(-1) ?? '0') % 2 === 1;
};

const scientific = ({ digits, point }: Decimal, places: number): string => {
  const exponent = digits === '' ? 0 : point - 1;
  const fraction = places === 0 ? '' : `.${digits.slice(1).padEnd(places, '0')}`;
  const size = String(Math.abs(exponent)).padStart(2, '0');
  return `${digits.charAt(0) || '0'}${fraction}e${exponent < 0 ? '-' : '+'}${size}`;
};

const plain = ({ digits, point }: Decimal, places: number): string => {
  const whole = point > 0 ? digits.slice(0, point).padEnd(point, '0') : '0';
  const fraction = point > 0 ? digits.slice(point) : '0'.repeat(digits === '' ? 0 : -point) + digits;
  return places === 0 ? whole : `${whole}.${fraction.padEnd(places, '0').slice(0, places)}`;
};
