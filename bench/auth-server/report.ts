import { mediansOf, ratioOf, type Sample } from '../paths.ts';
import { atLeast, type Target, targetTable } from '../targets.ts';
import type { LoginsMeasured, Refreshes } from './measure.ts';

export const LIBRARY = 'the library alone';
export const IN_MEMORY = 'memory';
export const IN_REDIS = 'Redis';

export interface AuthServerMeasured {
  readonly refreshes: readonly Refreshes[];
  readonly logins: readonly LoginsMeasured[];
}

/** Markdown: refreshes, then logins, then what was aimed at. */
export const reportOf = ({ refreshes, logins }: AuthServerMeasured): string =>
  [
    '| refresh | clients | storage | per second | CPU µs each | × the library | p50 ms | p99 ms |',
    '|---|---|---|---|---|---|---|---|',
    ...refreshes.flatMap(refreshRows),
    '',
    '| login | at once | storage | per second | CPU ms each | p50 ms | p99 ms | KB of the process each | KB of Redis each |',
    '|---|---|---|---|---|---|---|---|---|',
    ...logins.map(loginRow),
    '',
    targetTable([...refreshes.flatMap(targetsOf), ...logins.map(targetOfLogins)]),
  ].join('\n');

const refreshRows = ({ clients, samples }: Refreshes): readonly string[] =>
  [...samples].map(([name, own]) => {
    const { callsPerSecond, cpuMicros, p50, p99 } = mediansOf(own);
    const ratio = name === LIBRARY ? '–' : cpuRatio(samples, name).toFixed(2);
    const cells = [callsPerSecond.toFixed(0), cpuMicros.toFixed(0), ratio, p50.toFixed(2), p99.toFixed(2)];
    return `| token endpoint | ${clients} | ${name} | ${cells.join(' | ')} |`;
  });

const cpuRatio = (samples: Refreshes['samples'], name: string): number => {
  const of = (each: string): readonly Sample[] => samples.get(each) ?? [];
  return ratioOf(of(name), of(LIBRARY), 'cpuMicros');
};

const loginRow = (measured: LoginsMeasured): string => {
  const { name, users, callsPerSecond, cpuMicros, p50, p99, addedBytes, storedBytes } = measured;
  const cells = [
    callsPerSecond.toFixed(0),
    (cpuMicros / 1_000).toFixed(2),
    p50.toFixed(1),
    p99.toFixed(1),
    (addedBytes / users / 1_000).toFixed(1),
    storedBytes === undefined ? '–' : (storedBytes / users / 1_000).toFixed(1),
  ];
  return `| ${users} users | ${AT_ONCE} | ${name} | ${cells.join(' | ')} |`;
};

/** Logins at a time. */
export const AT_ONCE = 50;

/** With access tokens of an hour, so many refreshes a second are those of 720,000 users who are all at work. */
const REFRESHES_PER_SECOND = 200;
/** All 10,000 users of a company in three minutes. */
const LOGINS_PER_SECOND = 50;

const targetsOf = ({ clients, samples }: Refreshes): readonly Target[] =>
  clients === 1
    ? []
    : [IN_MEMORY, IN_REDIS].map((name) => {
        const { callsPerSecond } = mediansOf(samples.get(name) ?? []);
        return atLeast(`refreshes/s, ${clients} clients, ${name}`, REFRESHES_PER_SECOND, callsPerSecond);
      });

const targetOfLogins = ({ name, users, callsPerSecond }: LoginsMeasured): Target =>
  atLeast(`logins/s, ${users} users, ${name}`, LOGINS_PER_SECOND, callsPerSecond);
