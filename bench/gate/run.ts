import { parseArgs } from 'node:util';
import { measureAll, type Path, type Scenario, warmUp } from '../paths.ts';
import { type Started, startProcesses } from '../processes.ts';
import { publish } from '../publish.ts';
import { measureCold } from './cold.ts';
import { type Issuer, startIssuer } from './issuer.ts';
import { tokenMemory } from './memory.ts';
import { type EraMeasured, reportOf } from './report.ts';
import { BARE, EVERYTHING, type Stage, stagesOf } from './stages.ts';

/** `npm run bench:gate [-- --rounds 1 --windows 12 --seconds 0.6 --all --write | --quick]`: see ../README.md. */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '1' },
    windows: { type: 'string', default: '12' },
    seconds: { type: 'string', default: '0.6' },
    all: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
  },
});

const size = values.quick
  ? { warmUpMs: 0, settleMs: 50, rounds: 1, windows: 1, milliseconds: 50, users: 60, liveTokens: 100, decisions: 50 }
  : {
      warmUpMs: 18_000,
      settleMs: 3_000,
      rounds: Number(values.rounds),
      windows: Number(values.windows),
      milliseconds: Number(values.seconds) * 1_000,
      users: 1_000,
      liveTokens: 10_000,
      decisions: 10_000,
    };

/** Of the warm-up, so short that V8 drops no code of a process whose turn it is not. */
const SLICES = 6;

/** More than the gateway keeps decisions of, for one caller and tool. */
const VARIANTS = 200;
const argumentsOf = (index: number) => ({ path: `/srv/reports/${index}.txt`, mode: 'append' });

const processes = await startProcesses();
try {
  const issuer = await startIssuer(processes);
  const stages = stagesOf({
    issuer: issuer.url,
    collector: (await processes.role('gate/otlp-sink.ts')).url,
    redis: await processes.redis(),
  });
  const tokens = await issuer.tokens(size.users);
  const eras: EraMeasured[] = [];
  for (const era of ['legacy', 'modern'] as const)
    eras.push(await measureEra(era, { stages: tried(era, stages), tokens }));
  const report = reportOf({
    eras,
    stages,
    users: size.users,
    memory: await measureMemory(issuer, stages),
    cold: await measureCold(issuer, size.decisions),
  });
  console.log(report);
  const { rounds, windows, seconds } = values;
  if (values.write) await publish('gate', `${rounds} × ${windows} windows of ${seconds} s`, report);
} finally {
  await processes.endAll();
}

/** Each step in one revision; in the other, unless all is asked for, only what the targets need. */
function tried(era: Scenario['era'], stages: readonly Stage[]): readonly Stage[] {
  if (values.all || era === 'legacy') return stages;
  return stages.filter(({ name }) => name === BARE || name === EVERYTHING);
}

interface Gates {
  readonly stages: readonly Stage[];
  readonly tokens: readonly string[];
}

/** One revision after the other, each with processes of its own. */
async function measureEra(era: Scenario['era'], { stages, tokens }: Gates): Promise<EraMeasured> {
  const backend = await processes.backend();
  const path = era === 'modern' ? '/modern/mcp' : '/mcp';
  const proxy = await processes.byteProxy(backend.url);
  // The same requests on every path: to read the head with the token is no cost of the gate.
  const floor: Path = { name: 'byte proxy', url: `${proxy.url}${path}`, prefix: '', pid: proxy.pid, tokens };
  const all = [floor];
  const started: Started[] = [backend, proxy];
  for (const { name, config } of stages) {
    const gateway = await processes.vmcp(`${backend.url}${path}`, { config });
    started.push(gateway);
    const { url, pid } = gateway;
    all.push({ name, url, pid, prefix: 'bench_', tokens });
  }
  // Those that the targets need, where the figures mean nothing.
  const scenarios = scenariosOf(era, all).slice(0, values.quick ? 1 : undefined);
  if (size.warmUpMs > 0) await warmUp(processes, scenarios, { milliseconds: size.warmUpMs, slices: SLICES });
  const samples = await measureAll(processes, backend, scenarios, size);
  for (const { end } of started) end();
  return { era, scenarios, samples };
}

function scenariosOf(era: Scenario['era'], paths: readonly Path[]): readonly Scenario[] {
  const call = { name: '1 KB call', era, kind: 'echo', moreArguments: argumentsOf(0) } as const;
  const whole = paths.filter(({ name }) => name === 'byte proxy' || name === BARE || name === EVERYTHING);
  const variants = Array.from({ length: VARIANTS }, (_, index) => argumentsOf(index));
  const both: readonly Scenario[] = [
    { ...call, clients: 50, paths },
    { ...call, clients: 1, paths: values.all ? paths : whole },
  ];
  // In 2025-11-25 each user would need a session, too.
  if (era === 'legacy' && !values.all) return both;
  return [
    ...both,
    { ...call, name: `1 KB call, ${size.users} users`, clients: 50, users: size.users, paths: whole },
    { ...call, name: '1 KB call, new arguments', clients: 50, variants, paths: whole },
  ];
}

/** What live tokens add to a gateway that only verifies them, and to one with the whole gate. */
async function measureMemory(issuer: Issuer, stages: readonly Stage[]) {
  const backend = await processes.backend();
  const tokens = await issuer.tokens(size.liveTokens);
  const kb = new Map<string, number>();
  for (const { name, config } of stages.filter(({ name }) => name === '+ JWT' || name === EVERYTHING))
    kb.set(name, await tokenMemory(processes, backend, { config, tokens }));
  return { tokens: size.liveTokens, mb: kb };
}
