import type { Budget } from './budget.ts';
import { EvaluationError } from './errors.ts';
import { FUNCTIONS } from './functions.ts';
import type { Command, Operand, Pipeline } from './nodes.ts';
import { type Value, isMap, isTrue, memberOf, typeName } from './values.ts';

interface Variable {
  readonly name: string;
  value: Value;
}

/** Evaluates pipelines, and keeps the variables of one template or definition. Throws EvaluationError. */
export class Evaluator {
  /** Offset of what is evaluated, for errors. */
  at = 0;
  readonly #budget: Budget;
  readonly #variables: Variable[];

  constructor(budget: Budget, root: Value) {
    this.#budget = budget;
    this.#variables = [{ name: '$', value: root }];
  }

  /** Variables that `run` declares end with it. */
  scoped<T>(run: () => T): T {
    const { length } = this.#variables;
    const result = run();
    this.#variables.length = length;
    return result;
  }

  pipeline({ commands, variables, isAssignment }: Pipeline, dot: Value): Value {
    let value: Value;
    for (const [index, command] of commands.entries()) {
      // A null that has passed through a pipeline is nothing at all.
      value = this.#command(command, dot, index === 0 ? [] : [value]) ?? undefined;
    }
    for (const name of variables) {
      if (isAssignment) this.#variable(name).value = value;
      else this.#variables.push({ name, value });
    }
    return value;
  }

  /** Sets the variables that `range` has declared, or assigns to: one gets the item, two get key and item. */
  setLoopVariables({ variables, isAssignment }: Pipeline, key: Value, item: Value): void {
    const values = variables.length === 1 ? [item] : [key, item];
    for (const [index, name] of variables.entries()) {
      if (isAssignment) this.#variable(name).value = values[index];
      else this.#variables.push({ name, value: values[index] });
    }
  }

  #command({ at, head, args }: Command, dot: Value, final: readonly Value[]): Value {
    this.at = at;
    this.#budget.spend(1);
    if (head.kind !== 'function') return this.#operand(head, dot);
    return this.#call(head, args, dot, final);
  }

  #call(
    { name, at }: Operand & { kind: 'function' },
    args: readonly Operand[],
    dot: Value,
    final: readonly Value[],
  ): Value {
    if (name === 'and' || name === 'or') return this.#choice(name, args, dot, final);
    const values = args.map((arg) => this.#operand(arg, dot));
    const apply = FUNCTIONS.get(name);
    if (apply === undefined) throw new EvaluationError(`there is no function ${name}`);
    this.at = at;
    const value = apply([...values, ...final], this.#budget);
    if (typeof value === 'string') this.#budget.spendOnText(value.length);
    return value;
  }

  /** The first argument that decides, or the last; those after it are not evaluated. */
  #choice(name: 'and' | 'or', args: readonly Operand[], dot: Value, final: readonly Value[]): Value {
    let value: Value;
    for (const arg of args) {
      value = this.#operand(arg, dot);
      if (isTrue(value, this.#budget) === (name === 'or')) return value;
    }
    return final.length > 0 ? final[0] : value;
  }

  #operand(operand: Operand, dot: Value): Value {
    this.at = operand.at;
    this.#budget.spend(1);
    switch (operand.kind) {
      case 'nil':
        return null;
      case 'dot':
        return this.#fields(dot, operand);
      case 'variable':
        return this.#fields(this.#variable(operand.name).value, operand);
      case 'group':
        return this.#fields(this.pipeline(operand.pipeline, dot), operand);
      case 'function':
        return this.#call(operand, [], dot, []);
      default:
        return operand.value;
    }
  }

  #fields(from: Value, { path, at }: { readonly path: readonly string[]; readonly at: number }): Value {
    let value = from;
    for (const field of path) {
      // Nothing has no fields, but of what is missing further ones are missing, too.
      if (value === undefined) return undefined;
      this.at = at;
      if (!isMap(value)) throw new EvaluationError(`no field ${field} in a value of type ${typeName(value)}`);
      value = memberOf(value, field);
    }
    this.#budget.spend(path.length);
    return value;
  }

  #variable(name: string): Variable {
    const index = this.#variables.findLastIndex((variable) => variable.name === name);
    this.#budget.spend((this.#variables.length - index) >> 4);
    const variable = this.#variables[index];
    if (variable === undefined) throw new EvaluationError(`the variable ${name} has no value here`);
    return variable;
  }
}
