import type { Budget } from './budget.ts';
import { EvaluationError } from './errors.ts';
import { Int, type Value, compareText, isList, isMap, typeName } from './values.ts';

/** Whether the value equals one of the others. Numbers compare as such, int or float64, which Go refuses. */
export const equalsAny = (value: Value, others: readonly Value[], budget: Budget): boolean =>
  others.some((other) => equals(value, other, budget));

const equals = (a: Value, b: Value, budget: Budget): boolean => {
  if (isNothing(a) || isNothing(b)) return isNothing(a) && isNothing(b);
  const [x, y] = [numeric(a), numeric(b)];
  if (x !== undefined && y !== undefined) return isSame(x, y);
  if (isCompound(a) && typeName(a) === typeName(b))
    throw new EvaluationError(`values of type ${typeName(a)} cannot be compared`);
  if (typeof a !== typeof b || isCompound(a) || isCompound(b)) throw incompatible(a, b);
  if (typeof a === 'string' && typeof b === 'string') budget.spendOnComparison(a, b);
  return a === b;
};

/** Less than zero, zero, or more: of two numbers or two texts. */
export const order = (a: Value, b: Value, budget: Budget): number => {
  const [x, y] = [numeric(a), numeric(b)];
  if (x !== undefined && y !== undefined) return x < y ? -1 : Number(x > y);
  if (typeof a === 'string' && typeof b === 'string') {
    budget.spendOnComparison(a, b);
    return compareText(a, b);
  }
  const unordered = [a, b].find((value) => isNothing(value) || typeof value === 'boolean' || isCompound(value));
  if (unordered !== undefined || isNothing(a) || isNothing(b))
    throw new EvaluationError(`a value of type ${typeName(unordered)} is neither less nor more than another`);
  throw incompatible(a, b);
};

const isNothing = (value: Value): value is undefined | null => value === undefined || value === null;

const isCompound = (value: Value): boolean => isList(value) || isMap(value);

const numeric = (value: Value): number | bigint | undefined => {
  if (value instanceof Int) return value.value;
  return typeof value === 'number' ? value : undefined;
};

const isSame = (x: number | bigint, y: number | bigint): boolean =>
  // oxlint-disable-next-line eqeqeq -- A bigint is never identical to a number.
  x == y;

const incompatible = (a: Value, b: Value): EvaluationError =>
  new EvaluationError(`values of type ${typeName(a)} and ${typeName(b)} cannot be compared`);
