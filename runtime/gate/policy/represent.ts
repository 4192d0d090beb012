import {
  isArray,
  isNumber,
  isObject,
  isString,
  readArray,
  readObject,
  readString,
  skipValue,
} from '../../json/index.ts';
import { OPAQUE, type Represented, type Unrepresentable, type Value } from './values.ts';

/** Deeper values have no form in Cedar here, nor have longer ones (bytes of JSON text). */
const MAX_DEPTH = 16;
export const MAX_VALUE_BYTES = 64 * 1024;

/** A claim or an argument has no form in Cedar, so that policies that read it cannot decide. */
export class UnrepresentableError extends Error {
  override readonly name = 'UnrepresentableError';
  readonly why: Unrepresentable;

  constructor(why: Unrepresentable) {
    super(`no value of Cedar: ${why}`);
    this.why = why;
  }
}

const fail = (why: Unrepresentable): never => {
  throw new UnrepresentableError(why);
};

/**
 * The value of Cedar for the JSON text at `at`, read from the bytes themselves: a backend must not read another value
 * than policies did (docs/policies.md "Values"). Undefined for null. Throws UnrepresentableError.
 */
export const representBytes = (bytes: Buffer, at: number): Represented | undefined => {
  const end = skipValue(bytes, at);
  if (end - at > MAX_VALUE_BYTES) fail('large');
  return ofBytes(bytes, { start: at, end }, 0);
};

const ofBytes = (bytes: Buffer, span: { start: number; end: number }, depth: number): Represented | undefined => {
  if (isString(bytes, span)) return ofText(readString(bytes, span));
  if (isNumber(bytes, span)) return ofNumber(bytes.toString('latin1', span.start, span.end));
  if (depth === MAX_DEPTH && (isObject(bytes, span.start) || isArray(bytes, span.start))) fail('deep');
  if (isObject(bytes, span.start)) return recordIn(bytes, span.start, depth);
  if (isArray(bytes, span.start)) return setIn(bytes, span.start, depth);
  const word = bytes.toString('latin1', span.start, span.end);
  return word === 'null' ? undefined : plain(word === 'true');
};

/** Equal for keys that some readers take for one: `ſ` is an S and `K` (Kelvin) a K to those that ignore letter case. */
export const foldCase = (key: string): string => key.toUpperCase().toLowerCase();

const recordIn = (bytes: Buffer, at: number, depth: number): Represented => {
  const members = new Map<string, Represented>();
  const seen = new Set<string>();
  readObject(bytes, at, (key, start) => {
    const end = skipValue(bytes, start);
    // Of a key that is there twice, or in another letter case, nobody knows which one the backend reads.
    const folded = foldCase(key);
    if (seen.has(folded)) fail('twice');
    seen.add(folded);
    const member = ofBytes(bytes, { start, end }, depth + 1);
    if (member) members.set(nameOf(key), member);
    return end;
  });
  return recordOf(members);
};

const setIn = (bytes: Buffer, at: number, depth: number): Represented => {
  const items: Represented[] = [];
  readArray(bytes, at, (start) => {
    const end = skipValue(bytes, start);
    items.push(ofBytes(bytes, { start, end }, depth + 1) ?? fail('null'));
    return end;
  });
  return setOf(items);
};

/** The same for a claim, which was parsed when its token was verified. */
export const representClaim = (claim: unknown, depth = 0): Represented | undefined => {
  if (claim === null || claim === undefined) return undefined;
  if (typeof claim === 'boolean') return plain(claim);
  if (typeof claim === 'string') return claim.length > MAX_VALUE_BYTES ? fail('large') : ofText(claim);
  if (typeof claim === 'number') return ofDouble(claim);
  if (depth === MAX_DEPTH) fail('deep');
  if (Array.isArray(claim)) return setOf(claim.map((each: unknown) => representClaim(each, depth + 1) ?? fail('null')));
  const members = Object.entries(claim).flatMap(([name, value]) => {
    const member = representClaim(value, depth + 1);
    return member ? [[nameOf(name), member] as const] : [];
  });
  return recordOf(new Map(members));
};

const plain = (value: boolean | number | string): Represented => ({ value, json: value });

/** Half of a surrogate pair is no character: Cedar would not take it, and readers differ in what they make of it. */
const ofText = (text: string): Represented => (text.isWellFormed() ? plain(text) : fail('text'));

/** Members that Cedar's JSON takes for references to entities and for extension values: nobody may pass those in. */
const RESERVED: ReadonlySet<string> = new Set(['__entity', '__extn', '__expr']);

const nameOf = (name: string): string => {
  if (RESERVED.has(name)) fail('reserved');
  return name.isWellFormed() ? name : fail('text');
};

const recordOf = (members: ReadonlyMap<string, Represented>): Represented => ({
  value: { kind: 'record', members: new Map([...members].map(([name, { value }]) => [name, value])) },
  // No prototype: a member may be called `__proto__`.
  json: Object.assign(Object.create(null), Object.fromEntries([...members].map(([name, { json }]) => [name, json]))),
});

const setOf = (items: readonly Represented[]): Represented => ({
  value: { kind: 'set', items: items.map(({ value }) => value) },
  json: items.map(({ json }) => json),
});

/** A JSON number by its value, however it is written: 1, 1.0 and 1e0 are one number. */
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** No number of 64 bits has more digits. */
const MAX_EXPONENT = 40;

const MAX_NUMBER_LENGTH = 100;

const ofNumber = (text: string): Represented => {
  if (text.length > MAX_NUMBER_LENGTH) fail('float');
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(text) ?? fail('float');
  const digits = (whole + fraction).replace(/^0+/, '').replace(/0+$/, '');
  if (digits === '') return plain(0);
  const dropped = (whole + fraction).length - (whole + fraction).replace(/0+$/, '').length;
  const shift = Number(exponent) - fraction.length + dropped;
  if (Math.abs(shift) > MAX_EXPONENT || digits.length > MAX_EXPONENT) fail(shift < 0 ? 'float' : 'integer');
  if (shift >= 0) return ofInteger(BigInt(`${sign}${digits}${'0'.repeat(shift)}`));
  return ofDecimal(sign, digits, -shift);
};

const MIN_LONG = -(2n ** 63n);
const MAX_LONG = 2n ** 63n - 1n;

const ofInteger = (integer: bigint): Represented => {
  if (integer < MIN_LONG || integer > MAX_LONG) fail('integer');
  const double = Number(integer);
  if (Number.isSafeInteger(double)) return plain(double);
  return { value: OPAQUE, json: rawJson(String(integer)) };
};

/** ES2026 `JSON.rawJSON`: the number as written. */
const rawJson = (text: string): unknown => (JSON as unknown as { rawJSON: (text: string) => unknown }).rawJSON(text);

/** Cedar's decimal has four digits behind the point. */
const DECIMAL_DIGITS = 4;

const ofDecimal = (sign: string, digits: string, places: number): Represented => {
  if (places > DECIMAL_DIGITS) fail('float');
  const padded = digits.padStart(places + 1, '0');
  const scaled = BigInt(`${sign}${digits}`) * 10n ** BigInt(DECIMAL_DIGITS - places);
  if (scaled < MIN_LONG || scaled > MAX_LONG) fail('float');
  const arg = `${sign}${padded.slice(0, -places)}.${padded.slice(-places)}`;
  return { value: OPAQUE, json: { __extn: { fn: 'decimal', arg } } };
};

/** A number that was parsed already: beyond 2^53 it may have been another one. */
const ofDouble = (number: number): Represented => {
  if (Number.isSafeInteger(number)) return plain(number === 0 ? 0 : number);
  return Number.isInteger(number) || !Number.isFinite(number) ? fail('integer') : ofNumber(String(number));
};

/** Text by which equal values are recognized. */
export const keyOf = (json: unknown): string => JSON.stringify(json);

/** A value of Cedar's JSON form, as policies and entities have it. */
export const valueOfJson = (json: unknown): Value => {
  if (typeof json === 'number') return Number.isSafeInteger(json) ? json : OPAQUE;
  if (typeof json === 'boolean' || typeof json === 'string') return json;
  if (Array.isArray(json)) return { kind: 'set', items: json.map(valueOfJson) };
  if (typeof json !== 'object' || json === null) return OPAQUE;
  const { __entity: entity } = json as { readonly __entity?: { readonly type: string; readonly id: string } };
  if (entity) return { kind: 'entity', type: entity.type, id: entity.id };
  if ('__extn' in json) return OPAQUE;
  return { kind: 'record', members: new Map(Object.entries(json).map(([name, each]) => [name, valueOfJson(each)])) };
};
