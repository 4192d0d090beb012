import type { Budget } from './budget.ts';
import { EvaluationError } from './errors.ts';

/**
 * A Go `int`: constants without a decimal point, lengths, indexes. Numbers of the data are JavaScript numbers, as Go
 * decodes JSON into `float64`.
 */
export class Int {
  readonly value: bigint;

  constructor(value: bigint | number) {
    this.value = BigInt(value);
  }
}

/**
 * What an expression can be: JSON, an Int, or nothing. There are two kinds of nothing, as in Go: `undefined` is a key
 * that the data lack, of which any field may be read again, and `null` is a JSON null, of which none may.
 */
export type Value = undefined | null | boolean | number | Int | string | readonly unknown[] | ValueMap;
export type ValueMap = Readonly<Record<string, unknown>>;

export const isList = (value: Value): value is readonly unknown[] => Array.isArray(value);

export const isMap = (value: Value): value is ValueMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Int);

/** What the data hold at a place. Only JSON is let through: a function, say, counts as absent. */
export const valueOf = (found: unknown): Value => {
  switch (typeof found) {
    case 'string':
    case 'number':
    case 'boolean':
    case 'object':
      return found as Value;
    default:
      return undefined;
  }
};

/** Only own keys count, so that `constructor` or `__proto__` are keys like others. */
export const memberOf = (map: ValueMap, key: string): Value =>
  Object.hasOwn(map, key) ? valueOf(map[key]) : undefined;

/** Go's name of the type, as `%T` and error messages have it. */
export const typeName = (value: Value): string => {
  if (value === undefined || value === null) return '<nil>';
  if (typeof value === 'string') return 'string';
  if (typeof value === 'number') return 'float64';
  if (typeof value === 'boolean') return 'bool';
  if (value instanceof Int) return 'int';
  return isList(value) ? '[]interface {}' : 'map[string]interface {}';
};

/** https://pkg.go.dev/text/template "Actions": false, 0, nothing, and whatever has the length zero. */
export const isTrue = (value: Value, budget: Budget): boolean => {
  if (value instanceof Int) return value.value !== 0n;
  // NaN is true in Go: it is not zero.
  if (typeof value === 'number') return value !== 0;
  if (isList(value)) return value.length > 0;
  if (isMap(value)) return keysOf(value, budget).length > 0;
  return Boolean(value);
};

/** An integer for an index or a loop; whole numbers of the data serve, too, which Go refuses. */
export const wholeNumber = (value: Value): number | undefined => {
  if (value instanceof Int) return Number(value.value);
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined;
};

/** By code points, which is the order of the bytes in UTF-8: JavaScript itself compares UTF-16 units. */
export const compareText = (a: string, b: string): number => {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const [left, right] = [a.charCodeAt(index), b.charCodeAt(index)];
    if (left !== right) return ranked(left) - ranked(right);
  }
  return a.length - b.length;
};

/** Halves of surrogate pairs stand for characters beyond all others. */
const ranked = (unit: number): number => (unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit);

/** Keys of a map are listed by one pass over it, however few of them are wanted. */
const KEYS_PER_STEP = 16;

/** In no order. Throws EvaluationError. */
export const keysOf = (map: ValueMap, budget: Budget): string[] => {
  const keys = Object.keys(map);
  budget.spend(Math.ceil(keys.length / KEYS_PER_STEP));
  return keys;
};

/** By code points. What sorting takes is spent before it. Throws EvaluationError. */
export const keysInOrder = (map: ValueMap, budget: Budget): readonly string[] => {
  const keys = keysOf(map, budget);
  budget.spend(Math.ceil((keys.length * Math.log2(keys.length + 1)) / 2));
  return keys.sort(compareText);
};

/** Depth of what is printed or encoded: JSON of clients and backends is nested 500 deep at most. */
export const MAX_DATA_DEPTH = 512;

export const checkDepth = (depth: number): void => {
  if (depth > MAX_DATA_DEPTH) throw new EvaluationError(`a value is nested more than ${MAX_DATA_DEPTH} deep`, 'depth');
};
