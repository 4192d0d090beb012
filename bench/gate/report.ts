import { keyOf, mediansOf, median, type Path, ratioOf, type Sample, type Samples, type Scenario } from '../paths.ts';
import { atLeast, atMost, type Target, targetTable } from '../targets.ts';
import type { Cold } from './cold.ts';
import { BARE, EVERYTHING, type Stage } from './stages.ts';

export interface EraMeasured {
  readonly era: Scenario['era'];
  readonly scenarios: readonly Scenario[];
  readonly samples: Samples;
}

export interface GateMeasured {
  readonly eras: readonly EraMeasured[];
  readonly stages: readonly Stage[];
  readonly users: number;
  /** Megabytes that so many live tokens add, by stage. */
  readonly memory: { readonly tokens: number; readonly mb: ReadonlyMap<string, number> };
  readonly cold: Cold;
}

const REVISION = { legacy: '2025-11-25', modern: '2026-07-28' } as const;

/** Markdown: a table for each revision, then what is cold and what live tokens need, then what was aimed at. */
export const reportOf = (measured: GateMeasured): string =>
  [
    ...measured.eras.flatMap((era) => [eraTable(era, measured.stages), '']),
    onceTable(measured),
    '',
    targetTable(targetsOf(measured)),
  ].join('\n');

const eraTable = (measured: EraMeasured, stages: readonly Stage[]): string =>
  [
    `| ${REVISION[measured.era]} | clients | path | per second | × byte proxy | CPU µs each, of the hop | × bare | µs of the step | p50 ms | p99 ms |`,
    '|---|---|---|---|---|---|---|---|---|---|',
    ...measured.scenarios.flatMap((scenario) =>
      scenario.paths.map((path) => {
        const step = stages.find(({ name }) => name === path.name);
        return row(measured.samples, scenario, { path, after: step?.after });
      }),
    ),
  ].join('\n');

const row = (
  samples: Samples,
  scenario: Scenario,
  { path, after }: { readonly path: Path; readonly after: string | undefined },
): string => {
  const of = (name: string): readonly Sample[] | undefined => samplesOf(samples, scenario, name);
  const own = of(path.name) ?? [];
  const [floor, bare, before] = [of('byte proxy') ?? [], of(BARE) ?? [], after === undefined ? undefined : of(after)];
  const medians = mediansOf(own);
  const cells = [
    scenario.name,
    scenario.clients,
    path.name,
    medians.callsPerSecond.toFixed(0),
    ratioOf(own, floor, 'callsPerSecond').toFixed(2),
    medians.cpuMicros.toFixed(0),
    path.name === 'byte proxy' ? '–' : ratioOf(own, bare, 'cpuMicros').toFixed(2),
    before === undefined ? '–' : differenceOf(own, before).toFixed(1),
    medians.p50.toFixed(2),
    medians.p99.toFixed(2),
  ];
  return `| ${cells.join(' | ')} |`;
};

/** Undefined: the scenario has no such path. */
const samplesOf = (samples: Samples, scenario: Scenario, name: string): readonly Sample[] | undefined => {
  const path = scenario.paths.find((each) => each.name === name);
  return path && samples.get(keyOf(scenario, path));
};

/** The median of the differences of windows that followed one another. */
const differenceOf = (samples: readonly Sample[], before: readonly Sample[]): number =>
  median(samples.map(({ cpuMicros }, index) => cpuMicros - (before[index]?.cpuMicros ?? NaN)));

const onceTable = ({ memory: { tokens, mb }, cold }: GateMeasured): string =>
  [
    '| what | measured |',
    '|---|---|',
    `| a Cedar decision for a caller never seen, µs | ${cold.decisionMicros.toFixed(1)} |`,
    `| the same, of a tool that all seven policies concern, µs | ${cold.longestMicros.toFixed(1)} |`,
    `| a Cedar decision for new arguments of a known caller, µs | ${cold.argumentsMicros.toFixed(1)} |`,
    `| a token never seen (RS256), µs | ${cold.tokenMicros.toFixed(1)} |`,
    ...[...mb].map(([name, each]) => `| ${tokens} live tokens, ${name}, MB | ${each.toFixed(1)} |`),
  ].join('\n');

const targetsOf = ({ eras, cold }: GateMeasured): readonly Target[] => [
  ...eras.flatMap(({ era, scenarios, samples }) => {
    const scenario = scenarios.find(({ name, clients }) => name === '1 KB call' && clients === 50);
    const ratio = (floor: string, of: keyof Sample): number => {
      const [own, other] = [EVERYTHING, floor].map((name) => scenario && samplesOf(samples, scenario, name));
      return ratioOf(own ?? [], other ?? [], of);
    };
    return [
      atMost(`CPU per 1 KB call, 50 clients, ${REVISION[era]}, everything, × bare`, 1.15, ratio(BARE, 'cpuMicros')),
      atLeast(
        `1 KB calls/s, 50 clients, ${REVISION[era]}, everything, × byte proxy`,
        0.9,
        ratio('byte proxy', 'callsPerSecond'),
      ),
    ];
  }),
  atMost('µs of a Cedar decision for a caller never seen', 40, cold.decisionMicros, 1),
];
