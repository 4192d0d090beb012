import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { INITIALIZE, JSON_HEADERS } from './requests.ts';

/**
 * The latency of calls to nine backends while the tenth fails in some way, as a multiple of that while it is well;
 * `node bench/one-of-ten.ts [seconds of a window] [rounds]`. Windows of all ways follow one another in each round, and
 * the table has the medians over rounds (docs/failures.md "What is seen, and when it heals").
 */
const [windowSeconds = 3, rounds = 4] = process.argv.slice(2).map(Number);

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

/** Calls of the nine, one after another for each client; every one has to succeed. */
const measure = async (url: string): Promise<readonly number[]> => {
  const until = performance.now() + windowSeconds * 1_000;
  const latencies: number[] = [];
  const client = async (first: number): Promise<void> => {
    const call = await openCalls(url);
    for (let n = first; performance.now() < until; n += 1) {
      const began = performance.now();
      const text = await call(OTHERS[n % OTHERS.length] ?? '');
      latencies.push(performance.now() - began);
      if (!text.includes('"text":"x"')) throw new Error(`a call of another backend failed: ${text}`);
      await pause(2);
    }
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

const run = async (isBreaking: boolean): Promise<void> => {
  const { port } = backends.address() as AddressInfo;
  const { url, end } = await startGateway(`http://127.0.0.1:${port}`, isBreaking);
  await pause(2_000);
  // They end with the gateway.
  for (let n = 0; n < CLIENTS_OF_TENTH; n += 1) void burden(url).catch(() => {});
  await measure(url);
  const seen = new Map<Way, { p50: number; p99: number }[]>(WAYS.map((each) => [each, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const each of round % 2 === 0 ? WAYS : WAYS.toReversed()) {
      way = each;
      // Five time-outs, or five failures, and what was under way before has ended.
      await pause(3_000);
      const sorted = await measure(url);
      seen.get(each)?.push({ p50: at(sorted, 0.5), p99: at(sorted, 0.99) });
    }
  }
  await end();
  console.log(`circuit breaker ${isBreaking ? 'on' : 'off'}`);
  const well = medianOf(seen.get('well')?.map(({ p99 }) => p99) ?? []);
  for (const [each, samples] of seen) {
    const [p50, p99] = [medianOf(samples.map((one) => one.p50)), medianOf(samples.map((one) => one.p99))];
    console.log(`${each.padEnd(18)} p50 ${p50.toFixed(2)} ms  p99 ${p99.toFixed(2)} ms  × ${(p99 / well).toFixed(2)}`);
  }
};

backends.listen(0, '127.0.0.1');
await once(backends, 'listening');
await run(true);
await run(false);
// Calls that hang are still open.
process.exit(0);
