import { keyOf, mediansOf, type Path, type Sample, type Samples, type Scenario, median } from '../paths.ts';
import { atMost, type Target, targetTable } from '../targets.ts';

export interface WorkflowsMeasured {
  readonly scenarios: readonly Scenario[];
  readonly samples: Samples;
  readonly waiting: Waiting;
}

/** What workflows that wait for their users cost. */
export interface Waiting {
  readonly workflows: number;
  /** Resident memory that they add, in bytes. */
  readonly bytes: number;
}

export const CALL = 'calls';
export const STEPS = 'workflows of 20 steps';
export const EACH = 'forEach of 1,000 items';

/** Markdown: what a step costs beside a call, what waiting costs, and what was aimed at. */
export const reportOf = ({ scenarios, samples, waiting }: WorkflowsMeasured): string =>
  [
    '| clients | what | per second | steps each | CPU µs a step, of the gateway | × a call | p50 ms | p99 ms |',
    '|---|---|---|---|---|---|---|---|',
    ...scenarios.flatMap((scenario) => scenario.paths.map((path) => row(samples, scenario, path))),
    '',
    `${waiting.workflows} workflows that wait for a person (2026-07-28) add ${(waiting.bytes / 1024 / 1024).toFixed(1)} MB of resident memory.`,
    '',
    targetTable(scenarios.flatMap((scenario) => targetsOf(samples, scenario))),
  ].join('\n');

const samplesOf = (samples: Samples, scenario: Scenario, name: string): readonly Sample[] => {
  const path = scenario.paths.find((each) => each.name === name);
  return (path && samples.get(keyOf(scenario, path))) ?? [];
};

const perStep = ({ cpuMicros, backendPerCall }: Sample): number => cpuMicros / backendPerCall;

/** The median of what a step costs of what a call costs, measured right after one another. */
const ratio = (samples: Samples, scenario: Scenario, name: string): number => {
  const calls = samplesOf(samples, scenario, CALL);
  return median(
    samplesOf(samples, scenario, name).map((sample, index) => perStep(sample) / perStep(calls[index] ?? sample)),
  );
};

const row = (samples: Samples, scenario: Scenario, { name, clients }: Path): string => {
  const own = samplesOf(samples, scenario, name);
  const medians = mediansOf(own);
  const cells = [
    clients ?? scenario.clients,
    name,
    medians.callsPerSecond.toFixed(name === EACH ? 1 : 0),
    medians.backendPerCall.toFixed(0),
    median(own.map(perStep)).toFixed(0),
    ratio(samples, scenario, name).toFixed(2),
    medians.p50.toFixed(2),
    medians.p99.toFixed(2),
  ];
  return `| ${cells.join(' | ')} |`;
};

const LIMITS = new Map([
  [STEPS, 1.3],
  [EACH, 1.2],
]);

const targetsOf = (samples: Samples, scenario: Scenario): readonly Target[] =>
  scenario.paths.flatMap(({ name }) => {
    const limit = LIMITS.get(name);
    if (limit === undefined) return [];
    const what = `CPU of a step, ${name}, ${scenario.clients} at a time, × a call`;
    return [atMost(what, limit, ratio(samples, scenario, name))];
  });
