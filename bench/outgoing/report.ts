import { keyOf, mediansOf, type Path, ratioOf, type Sample, type Samples, type Scenario } from '../paths.ts';
import { atMost, type Target, targetTable } from '../targets.ts';
import type { Signing } from './signing.ts';

export interface EraMeasured {
  readonly era: Scenario['era'];
  readonly scenarios: readonly Scenario[];
  readonly samples: Samples;
}

export interface OutgoingMeasured {
  readonly eras: readonly EraMeasured[];
  readonly signing: readonly Signing[];
}

export const UNAUTHENTICATED = 'unauthenticated';
export const EXCHANGED = 'token_exchange';

const REVISION = { legacy: '2025-11-25', modern: '2026-07-28' } as const;

/** Markdown: a table for each revision, then what signatures cost, then what was aimed at. */
export const reportOf = ({ eras, signing }: OutgoingMeasured): string =>
  [
    ...eras.flatMap((era) => [eraTable(era), '']),
    '| a signature (AWS Signature Version 4) of a call of | µs |',
    '|---|---|',
    ...signing.map(({ what, micros }) => `| ${what} | ${micros.toFixed(1)} |`),
    '',
    targetTable(eras.flatMap(targetsOf)),
  ].join('\n');

const eraTable = ({ era, scenarios, samples }: EraMeasured): string =>
  [
    `| ${REVISION[era]} | clients | path | per second | × byte proxy | CPU µs each, of the hop | × unauthenticated | p50 ms | p99 ms |`,
    '|---|---|---|---|---|---|---|---|---|',
    ...scenarios.flatMap((scenario) => scenario.paths.map((path) => row(samples, scenario, path))),
  ].join('\n');

const row = (samples: Samples, scenario: Scenario, { name }: Path): string => {
  const own = samplesOf(samples, scenario, name);
  const medians = mediansOf(own);
  const cpu = ratioOf(own, samplesOf(samples, scenario, UNAUTHENTICATED), 'cpuMicros');
  const cells = [
    scenario.name,
    scenario.clients,
    name,
    medians.callsPerSecond.toFixed(0),
    ratioOf(own, samplesOf(samples, scenario, 'byte proxy'), 'callsPerSecond').toFixed(2),
    medians.cpuMicros.toFixed(0),
    name === 'byte proxy' ? '–' : cpu.toFixed(2),
    medians.p50.toFixed(2),
    medians.p99.toFixed(2),
  ];
  return `| ${cells.join(' | ')} |`;
};

const samplesOf = (samples: Samples, scenario: Scenario, name: string): readonly Sample[] => {
  const path = scenario.paths.find((each) => each.name === name);
  return (path && samples.get(keyOf(scenario, path))) ?? [];
};

const targetsOf = ({ era, scenarios, samples }: EraMeasured): readonly Target[] =>
  scenarios
    .filter(({ clients }) => clients === 50)
    .map((scenario) => {
      const [own, floor] = [EXCHANGED, UNAUTHENTICATED].map((name) => samplesOf(samples, scenario, name));
      const what = `CPU per warm 1 KB call, 50 clients, ${REVISION[era]}, ${EXCHANGED}, × ${UNAUTHENTICATED}`;
      return atMost(what, 1.1, ratioOf(own ?? [], floor ?? [], 'cpuMicros'));
    });
