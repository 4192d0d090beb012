/**
 * Conditions in CEL (https://cel.dev) that owners write over JSON values which strangers influence. A condition is
 * parsed and checked once, and every evaluation has a budget, so that neither its author nor the values can keep the
 * process busy. Start at `condition.ts`.
 */

export { type Compiled, compileCondition, type Condition, MAX_EXPRESSION, type Verdict } from './condition.ts';
export { type Variables, variablesOf } from './variables.ts';
