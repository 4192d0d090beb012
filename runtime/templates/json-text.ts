import type { Budget } from './budget.ts';
import { EvaluationError } from './errors.ts';
import {
  Int,
  MAX_DATA_DEPTH,
  type Value,
  checkDepth,
  isList,
  isMap,
  keysInOrder,
  memberOf,
  valueOf,
} from './values.ts';

/** JSON as Go's encoding/json writes it: keys in order, and `<`, `>`, `&` escaped. */
export const jsonOf = (value: Value, budget: Budget, depth = 0): string => {
  checkDepth(depth);
  if (isList(value)) {
    budget.spend(value.length);
    return `[${value.map((item) => jsonOf(valueOf(item), budget, depth + 1)).join(',')}]`;
  }
  if (isMap(value)) {
    const keys = keysInOrder(value, budget);
    return `{${keys.map((key) => `${textJson(key, budget)}:${jsonOf(memberOf(value, key), budget, depth + 1)}`).join(',')}}`;
  }
  if (typeof value === 'string') return textJson(value, budget);
  budget.spend(1);
  if (value instanceof Int) return value.value.toString();
  if (typeof value === 'number') return numberJson(value);
  return JSON.stringify(value ?? null);
};

const numberJson = (value: number): string => {
  if (!Number.isFinite(value)) throw new EvaluationError('JSON has no number that is not finite');
  return Object.is(value, -0) ? '-0' : JSON.stringify(value);
};

const textJson = (text: string, budget: Budget): string => {
  budget.spendOnText(text.length);
  return JSON.stringify(text.toWellFormed()).replaceAll(
    /[<>&\u2028\u2029]/g,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
};

/** What the text holds as JSON. */
export const jsonIn = (text: Value, budget: Budget): Value => {
  if (typeof text !== 'string') throw new EvaluationError('fromJson takes a text');
  // Parsing takes some ten times as long as copying.
  for (let times = 0; times < 8; times += 1) budget.spendOnText(text.length);
  if (isTooDeep(text)) throw new EvaluationError(`the JSON is nested more than ${MAX_DATA_DEPTH} deep`, 'depth');
  try {
    const value = JSON.parse(text) as Value;
    if (!MAY_OVERFLOW.test(text) || isFinite(value)) return value;
  } catch {
    throw new EvaluationError('the text is no JSON');
  }
  throw new EvaluationError('a number of the JSON is too large');
};

/** Numbers of at least a hundred digits, or so large an exponent. */
const MAY_OVERFLOW = /\d{100}|\d[eE]\+?\d{3}/;

const isFinite = (value: Value): boolean => {
  if (isList(value)) return value.every((item) => isFinite(valueOf(item)));
  if (isMap(value)) return Object.values(value).every((item) => isFinite(valueOf(item)));
  return typeof value !== 'number' || Number.isFinite(value);
};

/**
 * Whether a JSON text is nested deeper than what can be written again. Counts what is opened inside of texts, too, and
 * then no more than is there.
 */
export const isTooDeep = (text: string): boolean => {
  const opened = timesIn(text, '[') + timesIn(text, '{');
  return opened > MAX_DATA_DEPTH && depthOf(text) > MAX_DATA_DEPTH;
};

/** How often a text has this character; not counted further than what is too deep. */
const timesIn = (text: string, character: string): number => {
  let times = 0;
  for (let at = text.indexOf(character); at !== -1 && times <= MAX_DATA_DEPTH; at = text.indexOf(character, at + 1))
    times += 1;
  return times;
};

const depthOf = (text: string): number => {
  let depth = 0;
  let most = 0;
  let isText = false;
  for (let index = 0; index < text.length; index += 1) {
    const character = text.charCodeAt(index);
    if (isText && character === 0x5c) index += 1;
    else if (character === 0x22) isText = !isText;
    else if (!isText && (character === 0x5b || character === 0x7b)) most = Math.max(most, (depth += 1));
    else if (!isText && (character === 0x5d || character === 0x7d)) depth -= 1;
  }
  return most;
};
