import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Seen, seenSince } from '../loader-process.ts';
import { median } from '../paths.ts';
import { startProcesses } from '../processes.ts';
import { publish } from '../publish.ts';
import { atMost, targetTable } from '../targets.ts';
import { startBackends } from './backend.ts';
import { openClient } from './client.ts';
import { type Counts, FAILING, type Way } from './ways.ts';

/**
 * The latency of calls to nine backends while the tenth fails in some way, as a multiple of that while it is well:
 * `npm run bench:one-of-ten [-- --rounds 8 --seconds 3 --write | --quick]`: see ../README.md.
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '8' },
    seconds: { type: 'string', default: '3' },
    write: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
  },
});
const size = values.quick
  ? { rounds: 1, windowMs: 50, settleMs: 50, startMs: 500, warmUpMs: 0 }
  : {
      rounds: Number(values.rounds),
      windowMs: Number(values.seconds) * 1_000,
      // Five time-outs, or five failures, and what was under way before has ended.
      settleMs: 2_500,
      // Until the gateway has listed all backends.
      startMs: 2_000,
      warmUpMs: 30_000,
    };

const roundsOff = Math.ceil(size.rounds / 3);

const OTHERS = ['b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'];
const CLIENTS = 9;
/** Of a client between two calls, on average, so that none of the processes has to wait for a processor. */
const PAUSE_MS = 5;

type Latency = Pick<Seen, 'p50' | 'p99'>;

/** Calls of the nine, one after another for each client, which makes one at least; every one has to succeed. */
const measure = async (clients: readonly ((backend: string) => Promise<string>)[]): Promise<Latency> => {
  const start = performance.now();
  const latencies: number[] = [];
  const run = async (call: (backend: string) => Promise<string>, first: number): Promise<void> => {
    let n = first;
    do {
      const began = performance.now();
      const answer = await call(OTHERS[n % OTHERS.length] ?? '');
      latencies.push(performance.now() - began);
      if (!answer.includes('"text":"x"')) throw new Error(`a call of another backend failed: ${answer}`);
      await pause(2 * Math.random() * PAUSE_MS);
      n += 1;
    } while (performance.now() < start + size.windowMs);
  };
  await Promise.all(clients.map(run));
  return seenSince(start, latencies);
};

interface Failing extends Latency {
  /** p99 divided by that of the windows before and after, in which the tenth was well. */
  readonly timesWell: number;
  /** Shares of the calls of the tenth's clients. */
  readonly failed: number;
  readonly refused: number;
}

interface Measured {
  readonly well: Latency[];
  readonly failing: ReadonlyMap<Way, Failing[]>;
}

const put = async (url: string, body: string): Promise<Counts> => {
  const response = await fetch(url, { method: 'PUT', body });
  if (!response.ok) throw new Error(`${url} refused ${body}`);
  return (await response.json()) as Counts;
};

/** Throws where the tenth did not do what the row says. */
const sharesOf = (
  { answered, failed, refused }: Counts,
  way: Way,
  isBreaking: boolean,
): Omit<Failing, keyof Latency | 'timesWell'> => {
  // While it hangs, a short window may end before any call does: then none has failed.
  const all = Math.max(1, answered + failed + refused);
  if (!values.quick && (isBreaking ? refused === 0 : failed < all / 10))
    throw new Error(`while the tenth ${way}, ${failed} of ${all} calls failed, and ${refused} were refused`);
  return { failed: failed / all, refused: refused / all };
};

const processes = await startProcesses();

/** What the nine have seen. A gateway of its own. */
const run = async (origin: string, isBreaking: boolean, rounds: number): Promise<Measured> => {
  const tenth = await processes.role('one-of-ten/tenth.ts');
  const backends = Object.fromEntries([['a', `${tenth.url}/a`], ...OTHERS.map((name) => [name, `${origin}/${name}`])]);
  const operational = {
    timeouts: { default: '2s' },
    failureHandling: { circuitBreaker: { enabled: isBreaking, timeout: '1s' } },
  };
  const gateway = await processes.vmcp(backends, { config: { operational, extensions: { callsPerBackend: 64 } } });
  await pause(size.startMs);
  await put(`${tenth.url}/clients`, gateway.url);
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => openClient(gateway.url)));
  // Calls that are not counted: what is measured first would pay for V8's work on it.
  const warmAt = performance.now() + size.warmUpMs;
  do await measure(clients);
  while (performance.now() < warmAt);
  const measureWhile = async (way: Way): Promise<{ readonly latency: Latency; readonly counts: Counts }> => {
    await put(`${tenth.url}/way`, way);
    await pause(size.settleMs);
    await put(`${tenth.url}/way`, way);
    const latency = await measure(clients);
    return { latency, counts: await put(`${tenth.url}/way`, way) };
  };
  const well = [(await measureWhile('well')).latency];
  const failing = new Map<Way, Failing[]>(FAILING.map((way) => [way, []]));
  for (let round = 0; round < rounds; round += 1)
    for (const way of round % 2 === 0 ? FAILING : FAILING.toReversed()) {
      const { latency, counts } = await measureWhile(way);
      const { latency: after, counts: whileWell } = await measureWhile('well');
      if (!values.quick && whileWell.answered === 0) throw new Error(`the tenth has not healed after it ${way}`);
      const timesWell = latency.p99 / (((well.at(-1)?.p99 ?? NaN) + after.p99) / 2);
      failing.get(way)?.push({ ...latency, timesWell, ...sharesOf(counts, way, isBreaking) });
      well.push(after);
    }
  gateway.end();
  tenth.end();
  return { well, failing };
};

const medianOf = <Key extends string>(all: readonly Readonly<Record<Key, number>>[], key: Key): number =>
  median(all.map((each) => each[key]));

const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;

const rowsOf = (breaker: string, { well, failing }: Measured): readonly string[] => {
  const row = (way: Way, all: readonly Latency[], more: readonly string[]): string =>
    `| ${[breaker, way, medianOf(all, 'p50').toFixed(2), medianOf(all, 'p99').toFixed(2), ...more].join(' | ')} |`;
  const moreOf = (all: readonly Failing[]): readonly string[] => {
    const sorted = all.map(({ timesWell }) => timesWell).toSorted((a, b) => a - b);
    const quartiles = [0.25, 0.75].map((part) => sorted[Math.floor(sorted.length * part)]?.toFixed(2)).join('–');
    const shares = [medianOf(all, 'failed'), medianOf(all, 'refused')].map(percent);
    return [medianOf(all, 'timesWell').toFixed(2), quartiles, ...shares];
  };
  return [row('well', well, ['1.00', '–', '–', '–']), ...[...failing].map(([way, all]) => row(way, all, moreOf(all)))];
};

try {
  const origin = await startBackends((_, answer) => answer());
  const on = await run(origin, true, size.rounds);
  const off = await run(origin, false, roundsOff);
  const targets = [...on.failing].map(([way, all]) =>
    atMost(
      `p99 of calls to the nine, circuit breaker on, × well, while the tenth ${way}`,
      1.1,
      medianOf(all, 'timesWell'),
    ),
  );
  const report = [
    '| circuit breaker | the tenth | p50 ms | p99 ms | p99 × well | quartiles | its calls that failed | were refused |',
    '|---|---|---|---|---|---|---|---|',
    ...rowsOf('on', on),
    ...rowsOf('off', off),
    '',
    targetTable(targets),
  ].join('\n');
  console.log(report);
  if (values.write)
    await publish(
      'one of ten',
      `${size.rounds} rounds with the breaker and ${roundsOff} without it, windows of ${values.seconds} s`,
      report,
    );
} finally {
  await processes.endAll();
}
// The backends are still listening.
process.exit(0);
