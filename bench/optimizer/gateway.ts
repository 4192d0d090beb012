import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { startBackend } from '../../test/fixtures/backend.ts';
import { startEmbeddingServer } from '../../test/fixtures/embedding-server.ts';
import { as, filesWithPolicies, policyFeatures } from '../../test/fixtures/policies.ts';
import { openSession, type RawSession } from '../../test/fixtures/raw-client.ts';
import { startRuntime } from '../../test/fixtures/runtime.ts';
import { startProcesses } from '../processes.ts';
import { atMost, targetTable } from '../targets.ts';

/** How much is measured. */
interface Amount {
  /** Of each client. */
  readonly searches: number;
  readonly callers: number;
}

const CLIENTS = 50;

const QUERIES = Array.from({ length: 40 }, (_, index) => `does what tool_${index * 37} is for`);

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const from = performance.now();
  await work();
  return performance.now() - from;
};

const find = (session: RawSession, text: string) => session.call('find_tool', { tool_description: text });

const at = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0;

/** Time between two searches of one client: no model searches more often, and 50 of them are 200 searches a second. */
const EVERY_MS = 250;

/** Milliseconds of many searches, sorted. */
const searched = async (sessions: readonly RawSession[], searches: number): Promise<readonly number[]> => {
  const times: number[] = [];
  const searchAll = async (session: RawSession, client: number): Promise<void> => {
    await pause((EVERY_MS * client) / sessions.length);
    for (let search = 0; search < searches; search += 1) {
      const ms = await timed(() => find(session, QUERIES[(client + search) % QUERIES.length] ?? ''));
      times.push(ms);
      await pause(Math.max(0, EVERY_MS - ms));
    }
  };
  await Promise.all(sessions.map(searchAll));
  return times.toSorted((a, b) => a - b);
};

const residentMb = async (pid: number): Promise<number> => {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1_024;
};

/** Time in which all tools are in the index, whatever the embedding service does. */
const INDEXED_MS = 3_000;

/** Starts a gateway, and tells how long its first search took, with the start and without, after so long a time. */
const begun = async (
  processes: Awaited<ReturnType<typeof startProcesses>>,
  backend: string,
  optimizer: object | undefined,
  waitMs = 0,
) => {
  const from = performance.now();
  const gateway = await processes.vmcp(`${backend}/2000/mcp`, { config: { ...(optimizer && { optimizer }) } });
  const session = await openSession(gateway.url);
  await session.toolNames();
  await pause(waitMs);
  const first = optimizer ? await timed(() => find(session, 'something')) : 0;
  return { gateway, session, first, startMs: performance.now() - from };
};

const ofProcess = async ({ searches }: Amount) => {
  const processes = await startProcesses();
  const service = await startEmbeddingServer({ on: () => true });
  try {
    const backend = (await processes.backend()).url.replace(/\/(mcp)?$/, '');
    const plain = await begun(processes, backend, undefined);
    const plainMb = await residentMb(plain.gateway.pid);
    plain.gateway.end();
    const keyword = await begun(processes, backend, {});
    const sessions = await Promise.all(Array.from({ length: CLIENTS }, () => openSession(keyword.gateway.url)));
    await searched(sessions.slice(0, 5), searches);
    const one = await searched(sessions.slice(0, 1), searches);
    const many = await searched(sessions, searches);
    const mb = await residentMb(keyword.gateway.pid);
    keyword.gateway.end();
    const cold = await begun(processes, backend, { embeddingService: service.url }, INDEXED_MS);
    cold.gateway.end();
    return { keyword, one, many, moreMb: mb - plainMb, cold };
  } finally {
    await service.close();
    await processes.endAll();
  }
};

/** Callers of whom no two may see the same tools, in this process. */
const ofCallers = async ({ callers }: Amount) => {
  const tools = Array.from({ length: 2_000 }, (_, index) =>
    JSON.stringify({ name: `tool_${index}`, description: `Does what number ${index} is for`, inputSchema: {} }),
  );
  const backend = await startBackend({ tools });
  // Each caller lacks one tool.
  const policies = [
    'permit(principal, action, resource);',
    'forbid(principal, action == Action::"call_tool", resource) when { context.claim_lacks == resource.name };',
  ];
  const files = filesWithPolicies({ a: backend.url }, { type: 'cedar', policies }, { optimizer: {} });
  const running = await startRuntime(files, {}, { features: policyFeatures() });
  const before = process.memoryUsage().rss;
  const first: number[] = [];
  const again: number[] = [];
  for (let caller = 0; caller < callers; caller += 1) {
    const session = await openSession(running.url, {}, as(`user-${caller}`, { lacks: `a_tool_${caller}` }));
    first.push(await timed(() => find(session, 'what number 7 is for')));
    again.push(await timed(() => find(session, 'what number 8 is for')));
  }
  const mb = (process.memoryUsage().rss - before) / 1_048_576;
  await running.stop();
  await backend.close();
  const sort = (times: readonly number[]) => times.toSorted((a, b) => a - b);
  return { first: sort(first), again: sort(again), mb };
};

/**
 * What `find_tool` takes at a gateway in front of 2,000 tools, as its clients see it. The gateway is a process of its
 * own; clients and the embedding service are in this one.
 */
export const gatewayReport = async (isQuick: boolean): Promise<string> => {
  const amount: Amount = isQuick ? { searches: 5, callers: 50 } : { searches: 200, callers: 1_000 };
  const { keyword, one, many, moreMb, cold } = await ofProcess(amount);
  const callers = await ofCallers(amount);
  return targetTable([
    atMost('ms from the start of the process to the first answer of find_tool, 2,000 tools', 1_000, keyword.startMs, 0),
    atMost('ms of the first find_tool while the embedding service hangs, tools indexed', 50, cold.first),
    atMost('ms of find_tool at one client, p50', 3, at(one, 0.5)),
    atMost(`ms of find_tool at ${CLIENTS} clients, p50`, 3, at(many, 0.5)),
    atMost(`ms of find_tool at ${CLIENTS} clients, p99`, 10, at(many, 0.99)),
    atMost('MB more than without an optimizer', 60, moreMb, 0),
    atMost(
      `ms of the first find_tool of ${amount.callers} callers with other rights each, p50`,
      50,
      at(callers.first, 0.5),
    ),
    atMost('ms of their next one, p50', 10, at(callers.again, 0.5)),
    atMost('MB that these callers take', 200, callers.mb, 0),
  ]);
};
