import { parseArgs } from 'node:util';
import { resolve } from 'node:path';
import { comparisonOf } from './comparison.ts';
import { measureAll, type Scenario, scenariosOf, warmUp } from './paths.ts';
import { type Processes, startProcesses } from './processes.ts';
import { publish } from './publish.ts';
import { reportOf } from './report.ts';
import { idleSessionKb, memoryUnderLoad, peaksBothWays, sessionLives, type Sessions } from './sessions.ts';

/** `npm run bench [-- --rounds 2 --windows 12 --seconds 0.6 --against <file> | --write | --quick]`: see README.md. */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '2' },
    windows: { type: 'string', default: '12' },
    seconds: { type: 'string', default: '0.6' },
    against: { type: 'string' },
    write: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
  },
});
if (values.write && values.against !== undefined)
  throw new Error('a comparison is not published: --write or --against');
const earlier = values.against === undefined ? undefined : resolve(values.against);
const size = values.quick
  ? {
      warmUpMs: 50,
      settleMs: 50,
      rounds: 1,
      windows: 1,
      milliseconds: 50,
      underLoad: 50,
      lives: 20,
      idleSessions: 50,
      calls: 100,
    }
  : {
      warmUpMs: 45_000,
      settleMs: 5_000,
      rounds: Number(values.rounds),
      windows: Number(values.windows),
      milliseconds: Number(values.seconds) * 1_000,
      underLoad: 2_000,
      lives: 2_000,
      idleSessions: 5_000,
      calls: 200_000,
    };

const processes = await startProcesses();
try {
  const backend = await processes.backend();
  const all = await scenariosOf(processes, backend, earlier);
  const scenarios = values.quick ? fewest(all) : all;
  await warmUp(processes, scenarios, { milliseconds: size.warmUpMs, slices: 6 });
  const samples = await measureAll(processes, backend, scenarios, size);
  const { idleSessions } = size;
  const sessions = await sessionsOf(processes);
  const report = reportOf({ scenarios, samples, ...sessions, idleSessions });
  console.log(report);
  if (earlier !== undefined) {
    const before = await sessionsOf(withProgram(processes, earlier));
    console.log(`\n${comparisonOf({ scenarios, samples, sessions, before })}`);
  }
  const { rounds, windows, seconds } = values;
  if (values.write) await publish('data plane', `${rounds} rounds of ${windows} windows of ${seconds} s`, report);
} finally {
  await processes.endAll();
}

/** Sessions and memory, each in processes of its own. */
async function sessionsOf(processes: Processes): Promise<Sessions> {
  const { idleSessions, underLoad } = size;
  // Backends of its own, which no other gateway uses.
  const backend = await processes.backend();
  return {
    lives: await sessionLives(processes, await processes.backend(), size.lives),
    idleKb: await idleSessionKb(processes, backend, { sessions: idleSessions, areWarm: false }),
    warmKb: await idleSessionKb(processes, backend, { sessions: idleSessions, areWarm: true }),
    memory: await memoryUnderLoad(processes, backend, { calls: size.calls, milliseconds: underLoad }),
    peaks: await peaksBothWays(processes, backend, underLoad),
  };
}

/** The same, with another build of the gateway. */
function withProgram(processes: Processes, file: string): Processes {
  return { ...processes, vmcp: (backends) => processes.vmcp(backends, { program: { file } }) };
}

/** Those that the targets need. */
function fewest(scenarios: readonly Scenario[]): readonly Scenario[] {
  return scenarios
    .filter(({ clients, kind }) => clients === 50 || (clients === 1 && kind === 'echo'))
    .map((scenario) => ({ ...scenario, paths: scenario.paths.filter(({ name }) => name !== 'direct') }));
}
