import type { Budget } from './budget.ts';
import { indexed, lengthOf, sliced } from './collections.ts';
import { equalsAny, order } from './comparison.ts';
import { EvaluationError } from './errors.ts';
import { escapedHtml, escapedQuery, escapedScript, quotedText } from './escapes.ts';
import { jsonIn, jsonOf } from './json-text.ts';
import { formatted } from './printf.ts';
import { printed } from './printing.ts';
import { type Value, isTrue, typeName } from './values.ts';

type TemplateFunction = (args: readonly Value[], budget: Budget) => Value;

/**
 * The functions whose arguments are all evaluated before; `and` and `or` are not among them. The parser has counted
 * the arguments (`function-arguments.ts`).
 */
export const FUNCTIONS: ReadonlyMap<string, TemplateFunction> = new Map<string, TemplateFunction>([
  ['not', ([value], budget) => !isTrue(value, budget)],
  ['eq', ([value, ...others], budget) => equalsAny(value, others, budget)],
  ['ne', ([a, b], budget) => !equalsAny(a, [b], budget)],
  ['lt', ([a, b], budget) => order(a, b, budget) < 0],
  ['le', ([a, b], budget) => order(a, b, budget) <= 0],
  ['gt', ([a, b], budget) => order(a, b, budget) > 0],
  ['ge', ([a, b], budget) => order(a, b, budget) >= 0],
  ['index', ([value, ...keys], budget) => indexed(value, keys, budget)],
  ['slice', ([value, ...indexes], budget) => sliced(value, indexes, budget)],
  ['len', ([value], budget) => lengthOf(value, budget)],
  ['print', (args, budget) => joined(args, budget)],
  ['println', (args, budget) => `${args.map((value) => printed(value, budget)).join(' ')}\n`],
  ['printf', ([pattern, ...args], budget) => formatted(textIn('printf', pattern), args, budget)],
  ['html', (args, budget) => escapedHtml(shown(args, budget))],
  ['js', (args, budget) => escapedScript(shown(args, budget))],
  ['urlquery', (args, budget) => escapedQuery(shown(args, budget))],
  ['json', ([value], budget) => jsonOf(value, budget)],
  ['fromJson', ([text], budget) => jsonIn(text, budget)],
  ['quote', ([value], budget) => quoted(value, budget)],
]);

/** Spaces stand between two values neither of which is a text. */
const joined = (args: readonly Value[], budget: Budget): string =>
  args.reduce<string>((text, value, index) => {
    const isSpaced = index > 0 && typeof value !== 'string' && typeof args[index - 1] !== 'string';
    return `${text}${isSpaced ? ' ' : ''}${printed(value, budget)}`;
  }, '');

/** A text to escape, whose escapes may be six times as long. */
const shown = (args: readonly Value[], budget: Budget): string => {
  const text = joined(
    args.map((value) => value ?? '<no value>'),
    budget,
  );
  for (let times = 0; times < 6; times += 1) budget.spendOnText(text.length);
  return text;
};

/** Go takes texts only; other values are quoted as they print. */
const quoted = (value: Value, budget: Budget): string => {
  if (value === undefined || value === null) throw new EvaluationError('quote takes a text, not nothing');
  const text = printed(value, budget);
  for (let times = 0; times < 6; times += 1) budget.spendOnText(text.length);
  return quotedText(text, { isAscii: false });
};

const textIn = (name: string, value: Value): string => {
  if (typeof value === 'string') return value;
  throw new EvaluationError(`${name} takes a text first, not ${typeName(value)}`);
};
