import type { Budget } from './budget.ts';
import { EvaluationError } from './errors.ts';
import { Int, type Value, isList, isMap, keysOf, memberOf, typeName, valueOf, wholeNumber } from './values.ts';

/** `index x 1 "a"` is `x[1]["a"]`. A key that a map lacks gives nothing. */
export const indexed = (value: Value, keys: readonly Value[], budget: Budget): Value => {
  if (value === undefined || value === null) throw new EvaluationError('index of nothing');
  return keys.reduce((item, key) => itemAt(item, key, budget), value);
};

const itemAt = (item: Value, key: Value, budget: Budget): Value => {
  if (item === undefined || item === null) throw new EvaluationError('index of nothing');
  if (isMap(item)) {
    if (typeof key !== 'string') throw new EvaluationError(`the key of a map is a text, not ${typeName(key)}`);
    return memberOf(item, key) ?? null;
  }
  if (isList(item)) {
    const index = indexIn(key, item.length);
    if (index === item.length) throw outOfRange(index);
    return valueOf(item[index]);
  }
  if (typeof item !== 'string') throw new EvaluationError(`a value of type ${typeName(item)} has no items`);
  const bytes = bytesOf(item, budget);
  const index = indexIn(key, bytes.length);
  const byte = bytes[index];
  if (byte === undefined) throw outOfRange(index);
  return new Int(byte);
};

/** `slice x 1 2` is `x[1:2]`; of a text its bytes in UTF-8. */
export const sliced = (value: Value, indexes: readonly Value[], budget: Budget): Value => {
  if (value === undefined || value === null) throw new EvaluationError('slice of nothing');
  if (!isList(value) && typeof value !== 'string')
    throw new EvaluationError(`a value of type ${typeName(value)} cannot be sliced`);
  if (typeof value === 'string' && indexes.length === 3) throw new EvaluationError('a text has no third slice index');
  const items = typeof value === 'string' ? bytesOf(value, budget) : value;
  const [from = 0, to = items.length, capacity = items.length] = indexes.map((index) => indexIn(index, items.length));
  if (from > to || to > capacity) throw new EvaluationError(`slice indexes are out of order: ${from}, ${to}`);
  budget.spendOnText(to - from);
  return Buffer.isBuffer(items) ? textOf(items.subarray(from, to)) : items.slice(from, to);
};

export const lengthOf = (value: Value, budget: Budget): Int => {
  if (isList(value)) return new Int(value.length);
  if (typeof value === 'string') {
    budget.spendOnText(value.length);
    return new Int(Buffer.byteLength(value));
  }
  if (isMap(value)) return new Int(keysOf(value, budget).length);
  throw new EvaluationError(`a value of type ${typeName(value)} has no length`);
};

const indexIn = (key: Value, most: number): number => {
  const index = wholeNumber(key);
  if (index === undefined) throw new EvaluationError(`an index is a whole number, not ${typeName(key)}`);
  if (index < 0 || index > most) throw outOfRange(index);
  return index;
};

const outOfRange = (index: number): EvaluationError => new EvaluationError(`index out of range: ${index}`);

const bytesOf = (text: string, budget: Budget): Buffer => {
  budget.spendOnText(text.length);
  return Buffer.from(text);
};

/** Each byte of a character that was cut is a replacement character, as in JSON that Go writes. */
const textOf = (bytes: Buffer): string => {
  const text = bytes.toString('utf8');
  if (Buffer.byteLength(text) === bytes.length && !text.includes('\ufffd')) return text;
  const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;
  let start = 0;
  while (isContinuation(bytes[start])) start += 1;
  let last = bytes.length - 1;
  while (last > start && isContinuation(bytes[last])) last -= 1;
  const wanted = last < start ? 0 : lengthFrom(bytes[last] ?? 0);
  const end = last < start ? start : last + wanted > bytes.length ? last : bytes.length;
  return '\ufffd'.repeat(start) + bytes.subarray(start, end).toString('utf8') + '\ufffd'.repeat(bytes.length - end);
};

/** Bytes of the character in UTF-8 that begins with this one. */
const lengthFrom = (byte: number): number => (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1);
