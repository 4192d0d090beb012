import { createRequire } from 'node:module';
import type * as Cel from '@bufbuild/cel';
import { type Budget, BudgetExceededError } from './budget.ts';
import { costOfPattern } from './pattern-cost.ts';
import { convertible } from './strict-conversions.ts';

/** Not bundled: in the images it lies beside the program (Dockerfile.vmcp, Dockerfile.operator). */
const packages = createRequire(import.meta.url);

/** CEL with its standard functions, each of which takes its cost from the budget of the running evaluation. */
export interface Engine {
  readonly cel: typeof Cel;
  readonly env: Cel.CelEnv;
  /** Runs an evaluation; it is synchronous, so that no other one can take from its budget. */
  readonly spending: <T>(budget: Budget, run: () => T) => T;
}

/** Called in the condition of every loop (`check-expression.ts`). No expression can spell it. */
export const STEP = '@step';

let loaded: Engine | undefined;

/** Loads CEL at its first use: where there are no conditions it costs neither time nor memory. */
export const engine = (): Engine => {
  loaded ??= newEngine(packages('@bufbuild/cel') as typeof Cel);
  return loaded;
};

const newEngine = (cel: typeof Cel): Engine => {
  let current: Budget | undefined;
  const spend = (units: number): void => {
    if (!current) throw new Error('no evaluation is running');
    current.spend(units);
  };
  return {
    cel,
    env: cel.celEnv({ funcs: meteredFunctions(cel, spend) }),
    spending: (budget, run) => {
      current = budget;
      try {
        return run();
      } finally {
        current = undefined;
      }
    },
  };
};

type Spend = (units: number) => void;

/** The standard functions, each replaced by one of the same signature that pays first. */
const meteredFunctions = (cel: typeof Cel, spend: Spend): Cel.CelFunc[] => [
  ...[...cel.celEnv().funcs].map((func) => metered(cel, func, spend)),
  cel.celFunc(STEP, [], cel.CelScalar.BOOL, () => {
    spend(STEP_COST);
    return true;
  }),
];

/** A unit is up to some 400 ns. */
const STEP_COST = 10;
const CALL_COST = 10;
const ZONE_COST = 1_000;
const PATTERN_COST = 500;
/** Characters of a text, times instructions of a pattern, that cost one unit. */
const MATCHED_UNIT = 4;
/** Characters of a text that cost one unit. */
const TEXT_UNIT = 16;
/** Characters of a text, bytes of bytes, and entries of a list that an expression may make. */
const LONGEST = 65_536;

const metered = (cel: typeof Cel, func: Cel.CelFunc, spend: Spend): Cel.CelFunc => {
  const { name, target, arguments: types, result } = func;
  const call = (given: Cel.CelValue | undefined, args: Cel.CelValue[]): Cel.CelValue => {
    const all = given === undefined ? args : [given, ...args];
    spend(CALL_COST);
    if (name === 'matches') spend(costOfMatching(all));
    // Only methods of time have a time zone as their one argument.
    if (/^get[A-Z]/.test(name) && args.length > 0) spend(ZONE_COST);
    // Lists are joined once for each step of `map` and `filter`: copied flat, as nested ones are slow to read.
    const [left, right] = all;
    if (name === '_+_' && cel.isCelList(left) && cel.isCelList(right)) return joined(cel, left, right, spend);
    for (const each of all) weigh(cel, each, spend);
    const value = func.call(0, given, target === undefined ? args.map((each) => convertible(name, each)) : args);
    if (value === undefined || cel.isCelError(value)) throw value ?? new Error('no such overload');
    if (sizeOf(value) > LONGEST) throw new BudgetExceededError();
    return value;
  };
  // The types of an overload are known at run time only.
  if (target === undefined)
    return cel.celFunc(name, types, result, ((...args: Cel.CelValue[]) => call(undefined, args)) as never);
  function method(this: Cel.CelValue, ...args: Cel.CelValue[]): Cel.CelValue {
    return call(this, args);
  }
  return cel.celMethod(name, target, types, result, method as never);
};

/** RE2 takes time in proportion to the text and to the compiled pattern. */
const costOfMatching = ([text, pattern]: readonly unknown[]): number => {
  const cost = costOfPattern(String(pattern));
  if (!cost) return Infinity;
  return PATTERN_COST + cost.compiling + (String(text).length * cost.instructions) / MATCHED_UNIT;
};

const joined = (cel: typeof Cel, left: Cel.CelList, right: Cel.CelList, spend: Spend): Cel.CelList => {
  const size = left.size + right.size;
  spend(size);
  if (size > LONGEST) throw new BudgetExceededError();
  return cel.celList([...left, ...right]);
};

/** Pays for everything that a function may have to read. */
const weigh = (cel: typeof Cel, value: unknown, spend: Spend): void => {
  if (cel.isCelList(value)) {
    for (const each of value) spendAndWeigh(cel, each, spend);
  } else if (cel.isCelMap(value)) {
    for (const [key, each] of value) {
      spend(sizeOf(key) / TEXT_UNIT);
      spendAndWeigh(cel, each, spend);
    }
  } else spend(sizeOf(value) / TEXT_UNIT);
};

const spendAndWeigh = (cel: typeof Cel, value: unknown, spend: Spend): void => {
  spend(1);
  weigh(cel, value, spend);
};

const sizeOf = (value: unknown): number =>
  typeof value === 'string' || value instanceof Uint8Array ? value.length : 0;
