import { fieldsOf, parseTemplate, type Template } from '../templates/index.ts';
import { stepsRead } from '../workflow-checks/index.ts';
import { dataOfUnknownItem, NotYetKnown } from './dry-run-data.ts';
import { type Expand, isTrue, templateIn, type TemplateData } from './expansion.ts';
import { StepFailure } from './failure.ts';
import type { StepConfig } from './step.ts';
import { dataOfItem } from './steps/for-each.ts';
import { parsed } from './values.ts';

/** A text of a workflow as a run would have it, as far as that is known before. */
export type ShownText = { readonly label: string } & (
  | {
      readonly kind: 'known';
      readonly value: unknown;
      readonly template: string | undefined;
      readonly isCondition?: true;
    }
  /** `needs`: what it waits for, in words. */
  | { readonly kind: 'open'; readonly template: string; readonly needs: readonly string[] }
  | { readonly kind: 'failing'; readonly template: string; readonly reason: string }
);

export interface ShowDeps {
  readonly expand: Expand;
  readonly data: TemplateData;
  /** Whether the result of a step is known before the run. */
  readonly isKnown: (step: string) => boolean;
  /** Whether the data have the item of a loop. */
  readonly hasItem?: true;
}

/** The expansion of a template, where everything that it reads is known. */
export const shown = (label: string, template: Template, deps: ShowDeps): ShownText => {
  const written = { label, template: template.text };
  try {
    return { ...written, kind: 'known', value: deps.expand(template, deps.data) };
  } catch (error) {
    if (error instanceof NotYetKnown) return { ...written, kind: 'open', needs: needsOf(template, deps) };
    if (error instanceof StepFailure) return { ...written, kind: 'failing', reason: error.message };
    throw error;
  }
};

const needsOf = (template: Template, { isKnown, hasItem }: ShowDeps): readonly string[] => {
  const reads = fieldsOf(template);
  const steps = [...stepsRead({ reads })].filter((id) => !isKnown(id));
  const results = steps.length === 0 ? [] : [`the result${steps.length === 1 ? '' : 's'} of ${steps.join(', ')}`];
  const isOfItem = reads.some(({ path: [root] }) => root !== undefined && !OF_WORKFLOW.has(root));
  const needs = [...results, ...(isOfItem && !hasItem ? ['the item'] : [])];
  return needs.length > 0 ? needs : ['the results of steps'];
};

/** Roots of the data that all templates have; all others are the item of a loop. */
const OF_WORKFLOW: ReadonlySet<string> = new Set(['params', 'steps', 'workflow', 'vars']);

/** The texts of a step; `failure` says why it would fail if it ran. */
export interface ShownStep {
  readonly texts: readonly ShownText[];
  readonly failure?: string | undefined;
}

/** What each type of step expands, in the order in which it does. */
export const SHOWN_BY_TYPE: Readonly<Record<StepConfig['type'], (step: StepConfig, deps: ShowDeps) => ShownStep>> = {
  tool: ({ arguments: args }, deps) => ofOne(shownArguments(args, deps)),
  elicitation: ({ message = '', schema }, deps) =>
    ofOne([
      shown('message', parseTemplate(message), deps),
      ...(schema ? [{ label: 'schema', kind: 'known', value: schema, template: undefined } as const] : []),
    ]),
  forEach: (step, deps) => shownLoop(step, deps),
};

const ofOne = (texts: readonly ShownText[]): ShownStep => ({ texts, failure: failureIn(texts) });

const failureIn = (texts: readonly ShownText[]): string | undefined =>
  texts.flatMap((text) => (text.kind === 'failing' ? [text.reason] : []))[0];

const shownArguments = (args: StepConfig['arguments'] = {}, deps: ShowDeps, prefix = ''): readonly ShownText[] =>
  Object.entries(args).map(([name, value]) => {
    const [label, template] = [`${prefix}arguments.${name}`, templateIn(value)];
    return template ? shown(label, template, deps) : { label, kind: 'known', value, template: undefined };
  });

/** Whether a condition holds; undefined: not known before. */
export const shownCondition = (
  written: string,
  deps: ShowDeps,
  label = 'condition',
): { readonly text: ShownText; readonly holds: boolean | undefined } => {
  const text = shown(label, parseTemplate(written), deps);
  if (text.kind !== 'known') return { text, holds: undefined };
  try {
    return { text: { ...text, isCondition: true }, holds: isTrue(String(text.value)) };
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error;
    return { text: { label, kind: 'failing', template: written, reason: error.message }, holds: undefined };
  }
};

/** Items whose expansions are shown. */
const MOST_ITEMS = 5;

const shownLoop = ({ collection = '', itemVar, maxIterations, step: inner, onError }: StepConfig, deps: ShowDeps) => {
  const list = shown('collection', parseTemplate(collection), deps);
  if (list.kind !== 'known')
    return {
      texts: [list, ...shownItem(inner, { ...deps, data: dataOfUnknownItem(deps.data, itemVar) }, 'each item: ')],
      failure: failureIn([list]),
    };
  const items = parsed(String(list.value));
  if (!Array.isArray(items)) return { texts: [list], failure: 'its collection is no JSON array' };
  if (items.length > maxIterations)
    return {
      texts: [list],
      failure: `its collection has ${items.length} items, and maxIterations is ${maxIterations}`,
    };
  const texts = items
    .slice(0, MOST_ITEMS)
    .flatMap((item: unknown, index) =>
      shownItem(
        inner,
        { ...deps, hasItem: true, data: dataOfItem(deps.data, { item, index, itemVar }) },
        `item ${index}: `,
      ),
    );
  const left = {
    label: 'further items',
    kind: 'known',
    value: items.length - MOST_ITEMS,
    template: undefined,
  } as const;
  const isolated = onError?.action === 'continue' || inner?.onError?.action === 'continue';
  return {
    texts: [list, ...texts, ...(items.length > MOST_ITEMS ? [left] : [])],
    failure: isolated ? undefined : failureIn(texts),
  };
};

/** An item whose condition is false is skipped: nothing else of it is expanded. */
const shownItem = (inner: StepConfig['step'], deps: ShowDeps, prefix: string): readonly ShownText[] => {
  const condition =
    inner?.condition === undefined ? undefined : shownCondition(inner.condition, deps, `${prefix}condition`);
  const args = condition?.holds === false ? [] : shownArguments(inner?.arguments, deps, prefix);
  return [...(condition ? [condition.text] : []), ...args];
};
