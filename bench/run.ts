import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';

/** `npm run bench [-- --rounds 5 --seconds 2]`: see README.md beside this file. */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    write: { type: 'boolean', default: false },
  },
});
const rounds = Number(values.rounds);
const milliseconds = Number(values.seconds) * 1_000;

const here = (name: string): string => join(import.meta.dirname, name);
const children: ChildProcess[] = [];

interface Target {
  readonly name: string;
  readonly url: string;
  readonly tool: string;
  /** The process in between; none when the backend is called directly. */
  readonly pid?: number;
}

interface Sample {
  readonly callsPerSecond: number;
  readonly cpuMicros: number;
  readonly backendPerCall: number;
  readonly p50: number;
  readonly p99: number;
}

const role = async (file: string, ...args: string[]): Promise<{ port: string; pid: number }> => {
  const child = spawn(process.execPath, [here(file), ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { port: line.toString().trim(), pid: child.pid ?? 0 };
};

const startVmcp = async (directory: string, backendUrl: string): Promise<{ url: string; pid: number }> => {
  const config = join(directory, 'config.yaml');
  await writeFile(
    config,
    `incomingAuth: {type: anonymous}\nbackends: [{name: bench, url: "${backendUrl}", transport: streamable-http}]\n`,
  );
  const args = ['serve', '-c', config, '--port', '0', '--management-port', '0'];
  const child = spawn(process.execPath, [here('../runtime/main.ts'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  for await (const line of createInterface(child.stdout)) {
    const { url } = JSON.parse(line) as { url?: string };
    if (url !== undefined) return { url, pid: child.pid ?? 0 };
  }
  throw new Error('vmcp did not start');
};

/** User and system time of a process in microseconds; Linux counts in hundredths of a second. */
const cpuOf = async (pid: number | undefined): Promise<number> => {
  if (pid === undefined) return 0;
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
};

const measure = async (target: Target, clients: number, backendOrigin: string): Promise<Sample> => {
  const countRequests = async (): Promise<number> => Number(await (await fetch(backendOrigin)).text());
  const load = fork(here('load.ts'), [target.url, target.tool, String(clients), String(milliseconds), '1000'], {
    stdio: 'inherit',
  });
  children.push(load);
  await once(load, 'message');
  const before = { cpu: await cpuOf(target.pid), count: await countRequests() };
  load.send('go');
  const [{ calls, seconds, p50, p99 }] = (await once(load, 'message')) as [
    { calls: number; seconds: number; p50: number; p99: number },
  ];
  const after = { cpu: await cpuOf(target.pid), count: await countRequests() };
  return {
    callsPerSecond: calls / seconds,
    cpuMicros: (after.cpu - before.cpu) / calls,
    backendPerCall: (after.count - before.count) / calls,
    p50,
    p99,
  };
};

const median = (numbers: readonly number[]): number => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? NaN;

const medians = (samples: readonly Sample[]): Sample => ({
  callsPerSecond: median(samples.map((sample) => sample.callsPerSecond)),
  cpuMicros: median(samples.map((sample) => sample.cpuMicros)),
  backendPerCall: median(samples.map((sample) => sample.backendPerCall)),
  p50: median(samples.map((sample) => sample.p50)),
  p99: median(samples.map((sample) => sample.p99)),
});

const tableOf = (
  results: ReadonlyMap<string, readonly Sample[]>,
  targets: readonly Target[],
  clients: readonly number[],
): string => {
  const row = (target: Target, count: number): string => {
    const own = medians(results.get(`${target.name} ${count}`) ?? []);
    const floor = medians(results.get(`byte proxy ${count}`) ?? []);
    const ratio = (own.callsPerSecond / floor.callsPerSecond).toFixed(2);
    const cpu = target.pid === undefined ? '–' : own.cpuMicros.toFixed(0);
    const cells = [
      target.name,
      count,
      own.callsPerSecond.toFixed(0),
      ratio,
      cpu,
      own.p50.toFixed(2),
      own.p99.toFixed(2),
      own.backendPerCall.toFixed(4),
    ];
    return `| ${cells.join(' | ')} |`;
  };
  return [
    '| path | clients | calls/s | × byte proxy | CPU µs/call of the hop | p50 ms | p99 ms | backend requests/call |',
    '|---|---|---|---|---|---|---|---|',
    ...clients.flatMap((count) => targets.map((target) => row(target, count))),
  ].join('\n');
};

const writeReadme = async (table: string): Promise<void> => {
  const path = here('README.md');
  const text = await readFile(path, 'utf8');
  const stamp = `Measured ${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node}, ${cpus().length} × ${cpus()[0]?.model ?? 'CPU'}, ${rounds} rounds of ${values.seconds} s.`;
  await writeFile(
    path,
    text.replace(/<!-- results -->[\s\S]*<!-- end -->/, `<!-- results -->\n${stamp}\n\n${table}\n<!-- end -->`),
  );
};

const run = async (directory: string): Promise<void> => {
  const backend = await role('backend.ts');
  const origin = `http://127.0.0.1:${backend.port}`;
  const proxy = await role('byte-proxy.ts', origin);
  const vmcp = await startVmcp(directory, `${origin}/mcp`);
  const targets: Target[] = [
    { name: 'direct', url: `${origin}/mcp`, tool: 'echo' },
    { name: 'byte proxy', url: `http://127.0.0.1:${proxy.port}/mcp`, tool: 'echo', pid: proxy.pid },
    { name: 'vmcp', url: vmcp.url, tool: 'bench_echo', pid: vmcp.pid },
  ];
  const clients = [1, 50];
  const results = new Map<string, Sample[]>();
  // Round 0 only warms the processes up.
  for (let round = 0; round <= rounds; round += 1) {
    for (const count of clients) {
      // Every second round runs the other way, so that no path always follows the same one.
      for (const target of round % 2 === 0 ? targets : targets.toReversed()) {
        const sample = await measure(target, count, origin);
        const key = `${target.name} ${count}`;
        if (round > 0) results.set(key, [...(results.get(key) ?? []), sample]);
      }
    }
  }
  const table = tableOf(results, targets, clients);
  console.log(table);
  if (values.write) await writeReadme(table);
};

const directory = await mkdtemp(join(tmpdir(), 'vmcp-bench-'));
try {
  await run(directory);
} finally {
  for (const child of children) child.kill('SIGKILL');
  await rm(directory, { recursive: true });
}
