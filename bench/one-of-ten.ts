import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { publish } from './publish.ts';
import { INITIALIZE, JSON_HEADERS } from './requests.ts';
import { atMost, targetTable } from './targets.ts';

/**
 * The latency of calls to nine backends while the tenth fails in some way, as a multiple of that while it is well:
 * `npm run bench:one-of-ten [-- --rounds 4 --seconds 3 --write | --quick]`. Windows of all ways follow one another in
 * each round, and the table has the medians over rounds (docs/failures.md "What is seen, and when it heals").
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '4' },
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
      settleMs: 3_000,
      // Until the gateway has listed all backends.
      startMs: 2_000,
      warmUpMs: 30_000,
    };

const OTHERS = ['b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'];
const CLIENTS = 9;
/** Clients of the tenth backend, and their pause between two calls. */
const CLIENTS_OF_TENTH = 100;
const PAUSE_MS = 100;
const HOLD_MS = 60_000;

type Way = 'well' | 'hangs' | 'breaks off' | 'answers 503' | 'flaps' | 'fails under load';
const WAYS: readonly Way[] = ['well', 'hangs', 'breaks off', 'answers 503', 'flaps', 'fails under load'];

let way: Way = 'well';
let underWay = 0;
let calls = 0;

/** Whether a call of the tenth backend fails now. */
const fails = (): boolean => {
  if (way === 'flaps') return calls % 2 === 0;
  return way === 'fails under load' ? underWay > 8 : way !== 'well';
};

/** All ten backends; only calls to the first one ever fail. */
const backends = createServer({ keepAliveTimeout: 75_000 }, (incoming, response) => {
  const chunks: Buffer[] = [];
  incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
  incoming.on('end', () => {
    if (incoming.method !== 'POST') return response.writeHead(incoming.method === 'GET' ? 405 : 204).end();
    const { id, method } = JSON.parse(Buffer.concat(chunks).toString()) as { id?: unknown; method: string };
    const answer = (): void => {
      const result = RESULTS[method] ?? '{}';
      response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 's' });
      response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`);
    };
    if (id === undefined) return response.writeHead(202).end();
    if (method === 'server/discover') return response.writeHead(404).end();
    if (incoming.url !== '/a' || method !== 'tools/call') return answer();
    calls += 1;
    underWay += 1;
    response.once('close', () => (underWay -= 1));
    if (!fails()) return void setTimeout(answer, 2);
    if (way === 'hangs') return void setTimeout(() => response.destroy(), HOLD_MS).unref();
    if (way === 'breaks off') return void response.writeHead(200, { 'content-length': '99' }).end('{');
    return response.writeHead(503).end();
  });
});

const RESULTS: Readonly<Record<string, string>> = {
  initialize: '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"b","version":"1"}}',
  'tools/list': '{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}',
  'tools/call': '{"content":[{"type":"text","text":"x"}]}',
};

const agent = new Agent({ keepAlive: true });

const post = (url: string, body: string, headers: Readonly<Record<string, string>> = {}) =>
  new Promise<{ readonly text: string; readonly session: string }>((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent, headers: { ...JSON_HEADERS, ...headers } }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ text: Buffer.concat(chunks).toString(), session: String(response.headers['mcp-session-id'] ?? '') }),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });

const openCalls = async (url: string): Promise<(backend: string) => Promise<string>> => {
  const { session } = await post(url, INITIALIZE);
  const headers = { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' };
  let id = 0;
  return async (backend) => {
    id += 1;
    const params = `{"name":"${backend}_echo","arguments":{}}`;
    return (await post(url, `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`, headers)).text;
  };
};

/** Calls of the nine, one after another for each client, which makes one at least; every one has to succeed. */
const measure = async (url: string): Promise<readonly number[]> => {
  const until = performance.now() + size.windowMs;
  const latencies: number[] = [];
  const client = async (first: number): Promise<void> => {
    const call = await openCalls(url);
    let n = first;
    do {
      const began = performance.now();
      const text = await call(OTHERS[n % OTHERS.length] ?? '');
      latencies.push(performance.now() - began);
      if (!text.includes('"text":"x"')) throw new Error(`a call of another backend failed: ${text}`);
      await pause(2);
      n += 1;
    } while (performance.now() < until);
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, n) => client(n)));
  return latencies.toSorted((a, b) => a - b);
};

const at = (sorted: readonly number[], part: number): number => sorted[Math.floor(sorted.length * part)] ?? NaN;
const medianOf = (values: readonly number[]): number =>
  at(
    values.toSorted((a, b) => a - b),
    0.5,
  );

const startGateway = async (origin: string, isBreaking: boolean) => {
  const directory = await mkdtemp(join(tmpdir(), 'vmcp-one-of-ten-'));
  const file = join(directory, 'config.yaml');
  const config = {
    incomingAuth: { type: 'anonymous' },
    backends: ['a', ...OTHERS].map((name) => ({ name, url: `${origin}/${name}`, transport: 'streamable-http' })),
    operational: {
      timeouts: { default: '2s' },
      failureHandling: { circuitBreaker: { enabled: isBreaking, timeout: '1s' } },
    },
    extensions: { callsPerBackend: 64 },
  };
  await writeFile(file, JSON.stringify(config));
  const main = join(import.meta.dirname, '..', 'runtime', 'main.ts');
  const args = [main, 'serve', '-c', file, '--port', '0', '--management-port', '0'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface(child.stdout)) {
    const { url } = JSON.parse(line) as { url?: string };
    if (url === undefined) continue;
    child.stdout.resume();
    const end = async (): Promise<void> => {
      child.kill('SIGKILL');
      await rm(directory, { recursive: true });
    };
    return { url, end };
  }
  throw new Error('vmcp did not start');
};

/** Clients that call the tenth backend for as long as the process runs. */
const burden = async (url: string): Promise<void> => {
  const call = await openCalls(url);
  for (;;) {
    await call('a');
    await pause(PAUSE_MS);
  }
};

interface Latency {
  readonly p50: number;
  readonly p99: number;
}

/** What the nine have seen, by what the tenth did. */
const run = async (isBreaking: boolean): Promise<ReadonlyMap<Way, Latency>> => {
  const { port } = backends.address() as AddressInfo;
  const { url, end } = await startGateway(`http://127.0.0.1:${port}`, isBreaking);
  await pause(size.startMs);
  // They end with the gateway.
  for (let n = 0; n < CLIENTS_OF_TENTH; n += 1) void burden(url).catch(() => {});
  // Calls that are not counted: what is measured first would pay for V8's work on it.
  const warmAt = performance.now() + size.warmUpMs;
  do await measure(url);
  while (performance.now() < warmAt);
  const seen = new Map<Way, Latency[]>(WAYS.map((each) => [each, []]));
  for (let round = 0; round < size.rounds; round += 1) {
    for (const each of round % 2 === 0 ? WAYS : WAYS.toReversed()) {
      way = each;
      // Five time-outs, or five failures, and what was under way before has ended.
      await pause(size.settleMs);
      const sorted = await measure(url);
      seen.get(each)?.push({ p50: at(sorted, 0.5), p99: at(sorted, 0.99) });
    }
  }
  await end();
  const mediansOf = (all: readonly Latency[]): Latency => ({
    p50: medianOf(all.map(({ p50 }) => p50)),
    p99: medianOf(all.map(({ p99 }) => p99)),
  });
  return new Map([...seen].map(([each, all]) => [each, mediansOf(all)]));
};

type Seen = Awaited<ReturnType<typeof run>>;

const timesWell = (seen: Seen, each: Way): number => (seen.get(each)?.p99 ?? NaN) / (seen.get('well')?.p99 ?? NaN);

const rowsOf = (breaker: string, seen: Seen): readonly string[] =>
  [...seen].map(([each, { p50, p99 }]) => {
    const cells = [breaker, each, p50.toFixed(2), p99.toFixed(2), timesWell(seen, each).toFixed(2)];
    return `| ${cells.join(' | ')} |`;
  });

backends.listen(0, '127.0.0.1');
await once(backends, 'listening');
const [on, off] = [await run(true), await run(false)];
const targets = WAYS.filter((each) => each !== 'well').map((each) =>
  atMost(`p99 of calls to the nine, circuit breaker on, × well, while the tenth ${each}`, 1.1, timesWell(on, each)),
);
const report = [
  '| circuit breaker | the tenth | p50 ms | p99 ms | p99 × well |',
  '|---|---|---|---|---|',
  ...rowsOf('on', on),
  ...rowsOf('off', off),
  '',
  targetTable(targets),
].join('\n');
console.log(report);
if (values.write) await publish('one of ten', `${size.rounds} windows of ${values.seconds} s each`, report);
// Calls that hang are still open.
process.exit(0);
