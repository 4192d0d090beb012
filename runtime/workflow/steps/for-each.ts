import { VmcpError } from '../../errors.ts';
import { nextTurn } from '../../process/index.ts';
import { parseTemplate } from '../../templates/index.ts';
import { attempted } from '../attempt.ts';
import { type Expand, isTrue, planArguments, type TemplateData } from '../expansion.ts';
import { asStepFailure, StepFailure } from '../failure.ts';
import { attemptsOf } from '../on-error.ts';
import { within } from '../scope.ts';
import type { StepConfig, StepContext, StepType, ToolCall } from '../step.ts';
import { parsed } from '../values.ts';

/** Calls a tool for each item of a list. */
export const forEachStep: StepType = {
  plan: (step) => {
    const { collection = '', itemVar, maxIterations, maxParallel, step: inner = NO_STEP } = step;
    const template = parseTemplate(collection);
    const condition = inner.condition === undefined ? undefined : parseTemplate(inner.condition);
    const args = planArguments(inner.arguments);
    const { tool: reference = '' } = inner;
    const each: EachItem = async (context, data) => {
      if (condition && !isTrue(context.expand(condition, data))) {
        // Nothing is waited for otherwise, however many items are skipped.
        await nextTurn();
        return { status: 'skipped', output: inner.defaultResults };
      }
      return calledFor({ reference, args, data }, inner, context);
    };
    return {
      templates: [template, ...(condition ? [condition] : []), ...args.templates],
      tools: [reference],
      isolatesFailures: true,
      run: async (context) => {
        const items = itemsIn(template, context, maxIterations);
        const iterations = await eachOf(items, { context, each, itemVar, maxParallel });
        const numberOf = (status: Iteration['status']): number =>
          iterations.filter((iteration) => iteration.status === status).length;
        const counts = { completed: numberOf('completed'), failed: numberOf('failed'), skipped: numberOf('skipped') };
        return { kind: 'completed', output: { iterations, count: items.length, ...counts } };
      },
    };
  },
};

type InnerStep = NonNullable<StepConfig['step']>;

/** The schema of the configuration demands a step. */
const NO_STEP: InnerStep = { type: 'tool' };

/** Throws StepFailure. */
const itemsIn = (
  template: Parameters<Expand>[0],
  { expand, data }: StepContext,
  maxIterations: number,
): readonly unknown[] => {
  const items = parsed(expand(template, data));
  if (!Array.isArray(items)) throw new StepFailure('its collection is no JSON array', { isFinal: true });
  if (items.length > maxIterations)
    throw new StepFailure(`its collection has ${items.length} items, and maxIterations is ${maxIterations}`, {
      isFinal: true,
    });
  return items;
};

interface ItemOutcome {
  readonly status: 'completed' | 'failed' | 'skipped';
  readonly output?: unknown;
  readonly error?: string;
}

interface Iteration extends ItemOutcome {
  readonly index: number;
  readonly item: unknown;
}

type EachItem = (context: StepContext, data: TemplateData) => Promise<ItemOutcome>;

/** docs/composite-tools.md "forEach": `onError` of the inner step is about one item. */
const calledFor = async (call: ToolCall, inner: InnerStep, context: StepContext): Promise<ItemOutcome> => {
  try {
    const { output } = await attempted(attemptsOf(inner), context, (signal) => context.callTool(call, signal));
    return { status: 'completed', output };
  } catch (thrown) {
    if (context.signal.aborted) throw thrown;
    const failure = asStepFailure(thrown);
    if (inner.onError?.action === 'continue')
      return { status: 'failed', output: inner.defaultResults, error: failure.message };
    if (context.continues) return { status: 'failed', error: failure.message };
    throw failure;
  }
};

interface Loop {
  readonly context: StepContext;
  readonly each: EachItem;
  readonly itemVar: string;
  readonly maxParallel: number;
}

/** The first failure cancels the calls of all other items. */
const eachOf = (
  items: readonly unknown[],
  { context, each, itemVar, maxParallel }: Loop,
): Promise<readonly Iteration[]> =>
  within(context.signal, async (own) => {
    const iterations: Iteration[] = [];
    const waiting = items.entries();
    const ofItems = { ...context, signal: own };
    const workOn = async (): Promise<void> => {
      for (const [index, item] of waiting) {
        if (own.aborted) throw own.reason;
        const data = dataOfItem(context.data, { item, index, itemVar });
        iterations[index] = { index, item, ...(await each(ofItems, data)) };
      }
    };
    try {
      await Promise.all(Array.from({ length: Math.min(maxParallel, items.length) }, workOn));
    } catch (thrown) {
      own.abort(new VmcpError('cancelled', 'another item of the step has failed'));
      throw thrown;
    }
    return iterations;
  });

/** `.forEach` has the item in any case; beside it the item has no name that the workflow's own data have. */
export const dataOfItem = (
  data: TemplateData,
  { item, index, itemVar }: { readonly item: unknown; readonly index: number; readonly itemVar: string },
): TemplateData => {
  const own = record();
  const forEach = record();
  for (const names of [own, forEach]) {
    names['index'] = index;
    names[itemVar] = item;
  }
  for (const name in data) own[name] = data[name];
  own['forEach'] = forEach;
  return own;
};

/** Inherits no member, like an object whose prototype is null, and is made in a fifth of the time. */
const record = (): Record<string, unknown> => Object.create(NO_MEMBERS) as Record<string, unknown>;

const NO_MEMBERS: object = Object.freeze(Object.create(null) as object);
