import { nextTurn } from '../process/index.ts';
import { parseTemplate } from '../templates/index.ts';
import { dryRunData, NotYetKnown } from './dry-run-data.ts';
import { shown, SHOWN_BY_TYPE, shownCondition, type ShowDeps, type ShownText } from './dry-run-texts.ts';
import { expander } from './expansion.ts';
import { StepFailure } from './failure.ts';
import { planOutput } from './output.ts';
import { planWorkflows, type PlannedStep } from './plan.ts';
import type { StepResult } from './results.ts';
import type { StepConfig, WorkflowConfig } from './step.ts';

/** What a run of a workflow would do, as far as that is known before anything is called. */
export interface DryRun {
  /** In an order in which each waits only for those before it. */
  readonly steps: readonly DryStep[];
  /** Of the result; undefined: that of the last step. */
  readonly output: readonly ShownText[] | undefined;
  /** The first step that is known to fail and to end the workflow, if it is reached; without a step: the output. */
  readonly failure: { readonly step: string | undefined; readonly reason: string } | undefined;
}

export interface DryStep {
  readonly id: string;
  readonly type: StepConfig['type'];
  /** From 1: one more than the last wave of those that it waits for. */
  readonly wave: number;
  readonly waitsFor: readonly string[];
  /** `<workload>.<tool>` */
  readonly tool: string | undefined;
  readonly fate: 'runs' | 'may be skipped' | 'skipped' | 'fails';
  /** Why it fails, if it runs. */
  readonly reason: string | undefined;
  readonly texts: readonly ShownText[];
}

export interface DryRunDeps {
  /** Milliseconds since some moment. */
  readonly steadyNow: () => number;
}

/** Expands what can be expanded without a result of a step. `params`: checked, with defaults. Calls nothing. */
export const dryRun = async (
  config: WorkflowConfig,
  params: Readonly<Record<string, unknown>>,
  { steadyNow }: DryRunDeps,
): Promise<DryRun> => {
  const planned = planWorkflows([config]).get(config.name)?.steps ?? [];
  const written = new Map(config.steps.map((step) => [step.id, step]));
  const results = new Map<string, StepResult>();
  const deps: ShowDeps = {
    expand: expander({ now: steadyNow }),
    data: dryRunData({ workflow: config.name, params, steps: [...written.keys()], results }),
    isKnown: (id) => results.has(id),
  };
  const steps: DryStep[] = [];
  for (const step of planned) {
    const own = written.get(step.id);
    if (!own) continue;
    // The time of expansions is bounded for each turn.
    await nextTurn();
    const before = steps.filter(({ id }) => step.waitsFor.has(id));
    const found = dryStep(step, own, deps);
    const result = resultOf(step, found);
    if (result) results.set(step.id, result);
    const wave = 1 + Math.max(0, ...before.map((each) => each.wave));
    const tool = own.tool ?? own.step?.tool;
    steps.push({ id: step.id, type: step.type, wave, waitsFor: before.map(({ id }) => id), tool, ...found });
  }
  await nextTurn();
  return {
    steps,
    output: config.output && shownOutput(config.output.properties, deps),
    failure: failureIn(steps, planned) ?? (config.output && outputFailure(config.output, deps)),
  };
};

type Found = Pick<DryStep, 'fate' | 'reason' | 'texts'>;

const dryStep = ({ type }: PlannedStep, step: StepConfig, deps: ShowDeps): Found => {
  const condition = step.condition === undefined ? undefined : shownCondition(step.condition, deps);
  const first = condition ? [condition.text] : [];
  if (condition?.text.kind === 'failing') return { fate: 'fails', reason: condition.text.reason, texts: first };
  if (condition?.holds === false) return { fate: 'skipped', reason: undefined, texts: first };
  const { texts, failure } = SHOWN_BY_TYPE[type](step, deps);
  const isSure = condition === undefined || condition.holds === true;
  const fate = isSure ? (failure === undefined ? 'runs' : 'fails') : 'may be skipped';
  return { fate, reason: failure, texts: [...first, ...texts] };
};

/** What later steps see of one that calls nothing in any case. */
const resultOf = ({ continues, defaultResults: output }: PlannedStep, found: Found): StepResult | undefined => {
  if (found.fate === 'skipped') return { status: 'skipped', output };
  if (found.fate === 'fails' && continues) return { status: 'failed', output, error: found.reason ?? '' };
  return undefined;
};

const failureIn = (steps: readonly DryStep[], planned: readonly PlannedStep[]): DryRun['failure'] => {
  const ending = new Set(planned.filter(({ continues }) => !continues).map(({ id }) => id));
  const failing = steps.find(({ id, fate }) => fate === 'fails' && ending.has(id));
  return failing && { step: failing.id, reason: failing.reason ?? '' };
};

type Output = NonNullable<WorkflowConfig['output']>;
type Properties = Output['properties'];

/** A required property that has no value, whatever the steps give that are still to run. */
const outputFailure = ({ properties, required = [] }: Output, { expand, data }: ShowDeps): DryRun['failure'] => {
  for (const name of required) {
    const own = Object.entries(properties).filter(([each]) => each === name);
    try {
      planOutput({ properties: Object.fromEntries(own), required: [name] }).make(expand, data);
    } catch (error) {
      if (error instanceof StepFailure) return { step: undefined, reason: error.message };
      if (!(error instanceof NotYetKnown)) throw error;
    }
  }
  return undefined;
};

const shownOutput = (properties: Properties, deps: ShowDeps, prefix = ''): readonly ShownText[] =>
  Object.entries(properties).flatMap(([name, { value, properties: nested = {} }]) => {
    const label = `${prefix}${name}`;
    return [
      ...(value === undefined ? [] : [shown(label, parseTemplate(value), deps)]),
      ...shownOutput(nested, deps, `${label}.`),
    ];
  });
