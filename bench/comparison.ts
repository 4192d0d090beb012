import { EARLIER, ratioOf, type Sample, type Samples, type Scenario } from './paths.ts';
import { samplesOf } from './report.ts';
import type { Sessions } from './sessions.ts';

/** What of a row is worse than that by this share is named. */
const WORSE = 0.03;

export interface Compared {
  readonly scenarios: readonly Scenario[];
  readonly samples: Samples;
  readonly sessions: Sessions;
  /** Of the earlier build. */
  readonly before: Sessions;
}

/** One figure of a row: how many times that of the earlier build it is. */
interface Figure {
  readonly name: string;
  readonly ratio: number;
  readonly isMoreBetter: boolean;
}

/** Markdown: this build ÷ an earlier one, and which rows are worse by more than 3 %. */
export const comparisonOf = ({ scenarios, samples, sessions, before }: Compared): string => {
  const paths = scenarios.map((scenario) => ({
    what: `${scenario.name}, ${scenario.clients} clients`,
    figures: figuresOf(scenario, samples),
  }));
  const [now, then] = [sizesOf(sessions), sizesOf(before)];
  const sizes = now.map(({ name, value, isMoreBetter }, index) => {
    const earlier = then[index]?.value ?? NaN;
    const ratio = value / earlier;
    return {
      what: name,
      value,
      earlier,
      ratio,
      figures: [{ name: 'this build ÷ the earlier one', ratio, isMoreBetter }],
    };
  });
  return [
    '| this build ÷ the earlier one | calls per second | CPU each | p50 | p99 |',
    '|---|---|---|---|---|',
    ...paths.map(({ what, figures }) => `| ${[what, ...figures.map(({ ratio }) => ratio.toFixed(3))].join(' | ')} |`),
    '',
    '| sessions and memory | this build | the earlier one | ÷ |',
    '|---|---|---|---|',
    ...sizes.map(({ what, value, earlier, ratio }) => {
      return `| ${what} | ${value.toFixed(2)} | ${earlier.toFixed(2)} | ${ratio.toFixed(3)} |`;
    }),
    '',
    verdictOf([...paths, ...sizes]),
  ].join('\n');
};

const figuresOf = (scenario: Scenario, samples: Samples): readonly Figure[] => {
  const own = samplesOf(scenario, samples, 'vmcp');
  const earlier = samplesOf(scenario, samples, EARLIER);
  const figure = (name: string, of: keyof Sample, isMoreBetter = false): Figure => ({
    name,
    ratio: ratioOf(own, earlier, of),
    isMoreBetter,
  });
  return [
    figure('calls per second', 'callsPerSecond', true),
    figure('CPU each', 'cpuMicros'),
    figure('p50', 'p50'),
    figure('p99', 'p99'),
  ];
};

const sizesOf = ({ lives, idleKb, warmKb, memory, peaks }: Sessions) => [
  { name: 'lives of sessions per second', value: lives.perSecond, isMoreBetter: true },
  { name: 'backend requests per life', value: lives.backendRequests, isMoreBetter: false },
  { name: 'KB per idle session', value: idleKb, isMoreBetter: false },
  { name: 'KB per idle session with a warm backend session', value: warmKb, isMoreBetter: false },
  { name: 'peak RSS in MB, 50 clients, 100 KB', value: memory.peakMb, isMoreBetter: false },
  { name: `RSS in MB after ${memory.calls} calls`, value: memory.endMb, isMoreBetter: false },
  ...peaks.map(({ clients, peakMb }) => ({
    name: `peak RSS in MB, ${clients} clients, 100 KB both ways`,
    value: peakMb,
    isMoreBetter: false,
  })),
];

const verdictOf = (rows: readonly { readonly what: string; readonly figures: readonly Figure[] }[]): string => {
  const worse = rows.flatMap(({ what, figures }) => {
    const names = figures.filter(isWorse).map(({ name, ratio }) => `${name} × ${ratio.toFixed(3)}`);
    return names.length === 0 ? [] : [`* ${what}: ${names.join(', ')}`];
  });
  if (worse.length === 0) return 'No row is worse by more than 3 %.';
  return ['Worse by more than 3 %:', '', ...worse].join('\n');
};

const isWorse = ({ ratio, isMoreBetter }: Figure): boolean => (isMoreBetter ? ratio < 1 - WORSE : ratio > 1 + WORSE);
