import { keyOf, mediansOf, type Path, ratioOf, type Sample, type Samples, type Scenario } from './paths.ts';
import type { Sessions } from './sessions.ts';
import { type Target, atLeast, atMost, targetTable } from './targets.ts';

export interface Measured extends Sessions {
  readonly scenarios: readonly Scenario[];
  readonly samples: Samples;
  readonly idleSessions: number;
}

/** Markdown: every path and scenario, then what was aimed at. */
export const reportOf = (measured: Measured): string =>
  [pathTable(measured), '', targetTable(targetsOf(measured))].join('\n');

const pathTable = ({ scenarios, samples }: Measured): string => {
  const row = (scenario: Scenario, path: Path): string => {
    const all = samples.get(keyOf(scenario, path)) ?? [];
    const own = mediansOf(all);
    const cells = [
      scenario.name,
      scenario.clients,
      path.name,
      own.callsPerSecond.toFixed(0),
      ratioOf(all, floorOf(scenario, samples), 'callsPerSecond').toFixed(2),
      path.pid === undefined ? '–' : own.cpuMicros.toFixed(0),
      own.p50.toFixed(2),
      own.p99.toFixed(2),
      own.backendPerCall.toFixed(4),
    ];
    return `| ${cells.join(' | ')} |`;
  };
  return [
    '| what | clients | path | per second | × byte proxy | CPU µs each, of the hop | p50 ms | p99 ms | backend requests each |',
    '|---|---|---|---|---|---|---|---|---|',
    ...scenarios.flatMap((scenario) => scenario.paths.map((path) => row(scenario, path))),
  ].join('\n');
};

export const samplesOf = (scenario: Scenario | undefined, samples: Samples, name: Path['name']): readonly Sample[] => {
  const path = scenario?.paths.find((path) => path.name === name);
  return (scenario && path && samples.get(keyOf(scenario, path))) ?? [];
};

const floorOf = (scenario: Scenario | undefined, samples: Samples): readonly Sample[] =>
  samplesOf(scenario, samples, 'byte proxy');

const targetsOf = ({
  scenarios,
  samples,
  lives,
  idleKb,
  warmKb,
  idleSessions,
  memory,
  peaks,
}: Measured): readonly Target[] => {
  const find = (name: string, clients: number): Scenario | undefined =>
    scenarios.find((scenario) => scenario.name === name && scenario.clients === clients);
  const ratio = (name: string, clients: number, of: keyof Sample, floor = find(name, clients)): number =>
    ratioOf(samplesOf(find(name, clients), samples, 'vmcp'), floorOf(floor, samples), of);
  const source = ratioOf(
    samplesOf(find('1 KB call', 50), samples, 'vmcp from source'),
    floorOf(find('1 KB call', 50), samples),
    'callsPerSecond',
  );
  const modern = find('1 KB call, 2026-07-28', 50);
  return [
    atLeast('1 KB calls/s, 50 clients, × byte proxy', 1, ratio('1 KB call', 50, 'callsPerSecond')),
    atLeast('1 KB calls/s, 50 clients, from source, × byte proxy', 1, source),
    ...(modern
      ? [atLeast('1 KB calls/s, 50 clients, 2026-07-28, × byte proxy', 0.95, ratio(modern.name, 50, 'callsPerSecond'))]
      : []),
    atMost('p50 of 1 KB calls, 1 client, × byte proxy', 1.15, ratio('1 KB call', 1, 'p50')),
    atMost('CPU per 1 KB call, 50 clients, × byte proxy', 1.2, ratio('1 KB call', 50, 'cpuMicros')),
    atLeast('100 KB calls/s, 50 clients, × byte proxy', 0.85, ratio('100 KB call', 50, 'callsPerSecond')),
    atLeast(
      '100 KB both ways, calls/s, 50 clients, × byte proxy',
      0.9,
      ratio('100 KB both ways', 50, 'callsPerSecond'),
    ),
    atLeast(
      'lists of 200 tools/s, 50 clients, × 1 KB calls/s of the byte proxy',
      0.6,
      ratio('list of 200 tools', 50, 'callsPerSecond', find('1 KB call', 50)),
    ),
    atMost('backend requests per session of one call', 4, lives.backendRequests),
    atMost(`KB per idle session (${idleSessions})`, 50, idleKb, 1),
    atMost(`KB per idle session with a warm backend session (${idleSessions})`, 50, warmKb, 1),
    atMost('peak RSS in MB, 50 clients, 100 KB', 250, memory.peakMb, 0),
    ...peaks.map(({ clients, mostMb, peakMb }) =>
      atMost(`peak RSS in MB, ${clients} clients, 100 KB both ways`, mostMb, peakMb, 0),
    ),
    atMost(`RSS after ${memory.calls} calls, × that after a quarter of them`, 1.1, memory.endMb / memory.quarterMb),
  ];
};
