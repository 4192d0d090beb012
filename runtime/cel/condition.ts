import { lruCache } from '../process/index.ts';
import { Budget } from './budget.ts';
import { checkExpression } from './check-expression.ts';
import { engine } from './engine.ts';
import type { Variables } from './variables.ts';

/**
 * `absent`: it reads something that the variables do not have, and has no value for that reason. `failed`: it has no
 * value, or one that is neither true nor false. `exhausted`: it would take longer than a condition may.
 */
export type Verdict = 'true' | 'false' | 'absent' | 'failed' | 'exhausted';

/** An expression that has been parsed and checked. */
export interface Condition {
  /** Never throws. Conditions that are evaluated for one decision share a budget (`newBudget`). */
  readonly evaluate: (variables: Variables, budget: Budget) => Verdict;
}

export type Compiled =
  | { readonly ok: true; readonly condition: Condition }
  /** `reason`: what is wrong, fit to be shown to the author of the expression. */
  | { readonly ok: false; readonly reason: string };

/** Characters of an expression. */
export const MAX_EXPRESSION = 1_024;
/** Brackets inside brackets: the time that the parser takes grows with the third power of those that stay open. */
const MAX_NESTING = 24;
/** Units that one decision may spend, however many conditions it takes: a quarter of a second or so. */
const BUDGET = 500_000;

/** For the conditions of one decision, together. */
export const newBudget = (): Budget => new Budget(BUDGET);

/**
 * Parses and checks an expression over these variables. Names and functions that do not exist are found here. A schema
 * compiles an expression each time that it is checked, and a strategy once more.
 */
export const compileCondition = (expression: string, variables: readonly string[]): Compiled => {
  const key = JSON.stringify([expression, variables]);
  const known = compiled.get(key);
  if (known) return known;
  const made = compile(expression, variables);
  if (expression.length <= MAX_EXPRESSION) compiled.set(key, made, 0);
  return made;
};

/** As many as the largest configuration is likely to have. */
const compiled = lruCache<Compiled>({ count: 256, bytes: Infinity });

const compile = (expression: string, variables: readonly string[]): Compiled => {
  if (expression.length > MAX_EXPRESSION) return { ok: false, reason: `longer than ${MAX_EXPRESSION} characters` };
  if (nestingOf(expression) > MAX_NESTING) return { ok: false, reason: `more than ${MAX_NESTING} brackets are open` };
  const { cel, env, spending } = engine();
  try {
    const parsed = cel.parse(expression);
    const reason = checkExpression(parsed.expr, variables, engine());
    if (reason !== undefined) return { ok: false, reason };
    const run = cel.plan(env, parsed) as (values: Variables['values']) => unknown;
    return {
      ok: true,
      condition: {
        evaluate: ({ values, takeAbsence }, budget) => {
          takeAbsence();
          const value = spending(budget, () => run(values));
          const isAbsent = takeAbsence();
          // Also where CEL takes another operand's value for the one that was given up.
          if (budget.isExceeded) return 'exhausted';
          if (typeof value === 'boolean') return value ? 'true' : 'false';
          return isAbsent && cel.isCelError(value) ? 'absent' : 'failed';
        },
      },
    };
  } catch (error) {
    return { ok: false, reason: placeOf(error) };
  }
};

/** Counts brackets in texts, too: an expression with so many of them there can do without. */
const nestingOf = (expression: string): number => {
  let open = 0;
  let most = 0;
  for (const character of expression) {
    if ('([{'.includes(character)) open += 1;
    else if (')]}'.includes(character)) open -= 1;
    most = Math.max(most, open);
  }
  return most;
};

/** The parser's own message lists every character it could have gone on with. */
const placeOf = (error: unknown): string => {
  const { location } = error as { location?: { start?: { offset?: unknown } } };
  const offset = location?.start?.offset;
  return typeof offset === 'number' ? `it cannot be read from character ${offset + 1} on` : 'it cannot be read';
};
