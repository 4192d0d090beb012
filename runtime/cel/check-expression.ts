import type { parse } from '@bufbuild/cel';
import { type Engine, STEP } from './engine.ts';
import { costOfPattern } from './pattern-cost.ts';

export type Expr = ReturnType<typeof parse>['expr'];
type Call = Extract<Expr['exprKind'], { case: 'callExpr' }>['value'];
type Loop = Extract<Expr['exprKind'], { case: 'comprehensionExpr' }>['value'];

/** Operators that are no functions of the package. */
const OPERATORS: ReadonlySet<string> = new Set(['_[_]', '_?_:_', '_&&_', '_||_', '@not_strictly_false']);
/** Names of types, which `type(x)` is compared with. */
const TYPES: ReadonlySet<string> = new Set('bool bytes double int list map null_type string type uint'.split(' '));

/**
 * What is wrong with an expression that has been parsed, undefined where nothing is: names and functions that do not
 * exist would only be found when somebody calls. Adds `STEP` to every loop.
 */
export const checkExpression = (expr: Expr, variables: readonly string[], engine: Engine): string | undefined =>
  new Check(engine).check(expr, new Set(variables)) ?? valueProblem(expr, engine);

class Check {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  check(expr: Expr | undefined, names: ReadonlySet<string>): string | undefined {
    if (expr === undefined) return undefined;
    const { exprKind: kind } = expr;
    switch (kind.case) {
      case 'identExpr':
        return names.has(kind.value.name) || TYPES.has(kind.value.name)
          ? undefined
          : `there is no variable ${kind.value.name}`;
      case 'selectExpr':
        return this.check(kind.value.operand, names);
      case 'callExpr':
        return this.#call(kind.value, names);
      case 'listExpr':
        return this.#all(kind.value.elements, names);
      case 'structExpr':
        return this.#struct(kind.value, names);
      case 'comprehensionExpr':
        return this.#loop(kind.value, names);
      default:
        return undefined;
    }
  }

  #all(all: readonly Expr[], names: ReadonlySet<string>): string | undefined {
    for (const each of all) {
      const problem = this.check(each, names);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  #call({ function: name, target, args }: Call, names: ReadonlySet<string>): string | undefined {
    const problem = this.check(target, names) ?? this.#all(args, names);
    if (problem !== undefined || OPERATORS.has(name)) return problem;
    const overloads = [...(this.#engine.env.funcs.find(name) ?? [])];
    if (overloads.length === 0) return `there is no function ${name}`;
    const fits = overloads.some(
      (each) => each.arguments.length === args.length && (each.target === undefined) === (target === undefined),
    );
    if (!fits) return `${name} is called with the wrong number of arguments`;
    return name === 'matches' && args.some(isTooLarge)
      ? 'a pattern is too large, its repetitions written out'
      : undefined;
  }

  #struct(
    { messageName, entries }: Extract<Expr['exprKind'], { case: 'structExpr' }>['value'],
    names: ReadonlySet<string>,
  ): string | undefined {
    if (messageName !== '') return `there is no message ${messageName}`;
    const keys = entries.flatMap(({ keyKind }) => (keyKind.case === 'mapKey' ? [keyKind.value] : []));
    return this.#all([...keys, ...entries.flatMap(({ value }) => (value ? [value] : []))], names);
  }

  #loop(loop: Loop, names: ReadonlySet<string>): string | undefined {
    const inner = new Set([...names, loop.iterVar, loop.accuVar]);
    const { iterRange, accuInit, loopCondition, loopStep, result } = loop;
    const problem = this.check(iterRange, names) ?? this.check(accuInit, names);
    const parts = [loopCondition, loopStep, result].flatMap((each) => (each ? [each] : []));
    const found = problem ?? this.#all(parts, inner);
    if (found === undefined && loopCondition) loop.loopCondition = counted(loopCondition);
    return found;
  }
}

/** A pattern that stands in the expression; one that is computed is looked at when it is used. */
const isTooLarge = ({ exprKind: kind }: Expr): boolean =>
  kind.case === 'constExpr' &&
  kind.value.constantKind.case === 'stringValue' &&
  costOfPattern(kind.value.constantKind.value) === undefined;

/** `STEP() && condition` */
const counted = (condition: Expr): Expr => {
  const call = (name: string, args: Expr[]): Expr => ({
    $typeName: 'cel.expr.Expr',
    id: condition.id,
    exprKind: { case: 'callExpr', value: { $typeName: 'cel.expr.Expr.Call', function: name, args } },
  });
  return call('_&&_', [call(STEP, []), condition]);
};

/** What surely has another value than true and false. */
const valueProblem = ({ exprKind: kind }: Expr, { cel, env }: Engine): string | undefined => {
  const other = 'its value is neither true nor false';
  switch (kind.case) {
    case 'constExpr':
      return kind.value.constantKind.case === 'boolValue' ? undefined : other;
    case 'listExpr':
    case 'structExpr':
      return other;
    case 'comprehensionExpr':
      // `map` and `filter` collect in a list.
      return kind.value.accuInit?.exprKind.case === 'listExpr' ? other : undefined;
    case 'callExpr': {
      const { function: name } = kind.value;
      if (OPERATORS.has(name)) return undefined;
      const { BOOL, DYN } = cel.CelScalar;
      return [...(env.funcs.find(name) ?? [])].some(({ result }) => result === BOOL || result === DYN)
        ? undefined
        : other;
    }
    default:
      return undefined;
  }
};
