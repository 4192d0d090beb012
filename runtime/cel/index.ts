/**
 * Conditions in CEL (https://cel.dev) that owners write over JSON values which strangers influence. A condition is
 * parsed and checked once, and every decision has a budget, so that neither its author nor the values can keep the
 * process busy. Start at `condition.ts`.
 */

export type { Budget } from './budget.ts';
export {
  type Compiled,
  compileCondition,
  type Condition,
  MAX_EXPRESSION,
  newBudget,
  type Verdict,
} from './condition.ts';
export { type Variables, variablesOf } from './variables.ts';
