import { Budget, type TemplateBounds, tooLong } from './budget.ts';
import { EvaluationError, TemplateError, positionIn } from './errors.ts';
import { Evaluator } from './evaluate.ts';
import type { Node, Pipeline, Template } from './nodes.ts';
import { printed } from './printing.ts';
import {
  Int,
  type Value,
  isList,
  isMap,
  isTrue,
  keysInOrder,
  memberOf,
  typeName,
  valueOf,
  wholeNumber,
} from './values.ts';

/** Templates that invoke each other; https://pkg.go.dev/text/template stops at 100,000. */
const MAX_INVOCATIONS = 100;

/** Data of a template: JSON. Only own keys of objects count. */
export type TemplateData = Readonly<Record<string, unknown>>;

/**
 * The template's text for these data, with Go's defaults: what is missing prints as `<no value>`. A text that is made
 * is never read as a template again. Throws TemplateError.
 */
export const expandTemplate = (template: Template, data: TemplateData, bounds: TemplateBounds = {}): string => {
  const budget = new Budget(bounds);
  const evaluator = new Evaluator(budget, data);
  const expansion = new Expansion(template, budget);
  try {
    expansion.walk(template.main, data, evaluator);
    return expansion.text;
  } catch (error) {
    // Of the engine: a text, or a stack, beyond what a process can have. The bounds below leave room for neither.
    if (error instanceof RangeError)
      throw new TemplateError('the template needs too much memory', { line: 1, column: 1 }, 'depth');
    if (!(error instanceof EvaluationError)) throw error;
    throw new TemplateError(error.message, positionIn(template.text, expansion.at), error.bound);
  }
};

/** How a list of nodes ended. */
type Outcome = 'break' | 'continue' | undefined;

class Expansion {
  text = '';
  #bytes = 0;
  #depth = 0;
  #evaluator: Evaluator | undefined;
  readonly #template: Template;
  readonly #budget: Budget;

  constructor(template: Template, budget: Budget) {
    this.#template = template;
    this.#budget = budget;
  }

  /** Where the evaluation stands. */
  get at(): number {
    return this.#evaluator?.at ?? 0;
  }

  walk(nodes: readonly Node[], dot: Value, evaluator: Evaluator): Outcome {
    this.#evaluator = evaluator;
    for (const node of nodes) {
      this.#budget.spend(1);
      const outcome = this.#step(node, dot, evaluator);
      if (outcome !== undefined) return outcome;
    }
    return undefined;
  }

  #step(node: Node, dot: Value, evaluator: Evaluator): Outcome {
    switch (node.kind) {
      case 'text':
        this.#write(node.text);
        return undefined;
      case 'action': {
        const value = evaluator.pipeline(node.pipeline, dot);
        if (node.pipeline.variables.length === 0)
          this.#write(value === undefined ? '<no value>' : printed(value, this.#budget));
        return undefined;
      }
      case 'if':
      case 'with':
        return evaluator.scoped(() => {
          const value = evaluator.pipeline(node.pipeline, dot);
          if (!isTrue(value, this.#budget)) return this.walk(node.otherwise, dot, evaluator);
          return this.walk(node.body, node.kind === 'with' ? value : dot, evaluator);
        });
      case 'range':
        return evaluator.scoped(() => this.#range(node, dot, evaluator));
      case 'template':
        this.#invoke(
          node.name,
          node.pipeline === undefined ? undefined : evaluator.pipeline(node.pipeline, dot),
          node.at,
        );
        return undefined;
      default:
        return node.kind;
    }
  }

  #range(node: Node & { kind: 'range' }, dot: Value, evaluator: Evaluator): Outcome {
    const value = evaluator.pipeline(node.pipeline, dot);
    let isEmpty = true;
    for (const [key, item] of itemsOf(value, node.pipeline, this.#budget)) {
      isEmpty = false;
      this.#budget.spend(1);
      const outcome = evaluator.scoped(() => {
        evaluator.setLoopVariables(node.pipeline, key, item);
        return this.walk(node.body, item, evaluator);
      });
      if (outcome === 'break') break;
    }
    return isEmpty ? this.walk(node.otherwise, dot, evaluator) : undefined;
  }

  #invoke(name: string, dot: Value, at: number): void {
    const caller = this.#evaluator;
    if (this.#depth === MAX_INVOCATIONS) {
      if (caller !== undefined) caller.at = at;
      throw new EvaluationError(`templates invoke each other more than ${MAX_INVOCATIONS} deep`, 'depth');
    }
    this.#depth += 1;
    this.walk(this.#template.definitions.get(name) ?? [], dot, new Evaluator(this.#budget, dot));
    this.#depth -= 1;
    this.#evaluator = caller;
  }

  #write(text: string): void {
    this.#bytes += Buffer.byteLength(text);
    if (this.#bytes > this.#budget.maxOutputBytes) throw tooLong(this.#budget.maxOutputBytes);
    this.#budget.spendOnText(text.length);
    this.text += text;
  }
}

/** Keys and items in the order of a loop: lists by index, maps by key, numbers from zero on. */
function* itemsOf(value: Value, { variables }: Pipeline, budget: Budget): Generator<readonly [Value, Value]> {
  if (value === undefined || value === null) return;
  if (isList(value)) {
    for (const [index, item] of value.entries()) yield [new Int(index), valueOf(item)];
    return;
  }
  if (isMap(value)) {
    for (const key of keysInOrder(value, budget)) yield [key, memberOf(value, key)];
    return;
  }
  const count = wholeNumber(value);
  if (count === undefined) throw new EvaluationError(`range over a value of type ${typeName(value)}`);
  if (variables.length > 1) throw new EvaluationError('range over a number has one variable');
  for (let index = 0; index < count; index += 1) yield [undefined, new Int(index)];
}
