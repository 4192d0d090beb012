import { runInBatch } from '../process/index.ts';
import {
  expandTemplate,
  parseTemplate,
  type Template,
  type TemplateBounds,
  TemplateError,
} from '../templates/index.ts';
import { StepFailure } from './failure.ts';
import { valueOfText, type ValueType } from './values.ts';

/** What templates see: docs/composite-tools.md "Templates" */
export type TemplateData = Readonly<Record<string, unknown>>;

/** Expands a template for one run. Throws StepFailure. */
export type Expand = (template: Template, data: TemplateData) => string;

/** Time of all expansions of a run between two turns of the event loop: docs/templates.md "Bounds". */
const MAX_MS = 100;

/**
 * `now`: milliseconds from any origin. The arguments of a step, or the values of an output, are expanded at one go, so
 * that a bound on each of them would let a workflow with many hold up the process.
 */
export const expander = ({ now }: { readonly now: () => number }): Expand => {
  let spentMs = 0;
  let isInTurn = false;
  const beginTurn = (): void => {
    if (isInTurn) return;
    isInTurn = true;
    runInBatch(() => {
      isInTurn = false;
      spentMs = 0;
    });
  };
  return (template, data) => {
    beginTurn();
    const from = now();
    try {
      const text = expanded(template, data, { now, maxMs: MAX_MS - spentMs });
      if (!text.includes(NO_VALUE)) return text;
    } finally {
      spentMs += now() - from;
    }
    throw new StepFailure('a template uses a value that is not there', { isFinal: true });
  };
};

/** What Go prints for a value that is not there (text/template, "Actions"). */
const NO_VALUE = '<no value>';

const expanded = (template: Template, data: TemplateData, bounds: TemplateBounds): string => {
  try {
    return expandTemplate(template, data, bounds);
  } catch (error) {
    if (error instanceof TemplateError) throw new StepFailure(error.message, { cause: error, isFinal: true });
    throw error;
  }
};

/** An argument of a tool: a template, or a value that is passed as it is. */
interface PlannedArgument {
  readonly name: string;
  readonly template: Template | undefined;
  readonly value: unknown;
}

export interface ArgumentsPlan {
  readonly templates: readonly Template[];
  /** JSON text of the arguments. `typeOf`: what the tool wants; texts that cannot be that stay texts. */
  readonly expand: (expand: Expand, data: TemplateData, typeOf: TypeOfArgument) => Buffer;
}

/** Undefined: a text. */
export type TypeOfArgument = (name: string) => ArgumentType | undefined;

export interface ArgumentType {
  readonly type: ValueType;
  /** It may be null, too. */
  readonly isNullable: boolean;
}

/** The template that an argument is; undefined: a value that is passed as it is. */
export const templateIn = (value: unknown): Template | undefined =>
  typeof value === 'string' && value.includes('{{') ? parseTemplate(value) : undefined;

/** Only texts of the first level are templates: docs/composite-tools.md "Arguments". */
export const planArguments = (args: Readonly<Record<string, unknown>> = {}): ArgumentsPlan => {
  const planned = Object.entries(args).map(([name, value]): PlannedArgument => ({
    name,
    value,
    template: templateIn(value),
  }));
  return {
    templates: planned.flatMap(({ template }) => template ?? []),
    expand: (expand, data, typeOf) => {
      const members = planned.map(({ name, value, template }) => {
        const given = template ? typed(expand(template, data), typeOf(name)) : value;
        return `${JSON.stringify(name)}:${JSON.stringify(given)}`;
      });
      return Buffer.from(`{${members.join(',')}}`);
    },
  };
};

const typed = (text: string, wanted: ArgumentType | undefined): unknown => {
  if (wanted === undefined || wanted.type === 'string') return text;
  if (wanted.isNullable && text.trim() === 'null') return null;
  return valueOfText(text, wanted.type) ?? text;
};

/** Throws StepFailure where the text is neither true nor false. */
export const isTrue = (text: string): boolean => {
  const value = valueOfText(text, 'boolean');
  if (typeof value === 'boolean') return value;
  throw new StepFailure('its condition gives neither true nor false', { isFinal: true });
};
