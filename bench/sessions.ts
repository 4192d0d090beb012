import { Agent } from 'undici';
import { median } from './paths.ts';
import { type Processes, peakResidentOf, requestsAt, residentOf, type Started } from './processes.ts';
import { INITIALIZE, INITIALIZED, JSON_HEADERS, postOf } from './requests.ts';

const AT_ONCE = 20;
const KB = 1_000;

/** Clients that open, use and end sessions; one connection pool for all of them. */
const clientsOf = (url: string) => {
  const agent = new Agent({ connections: AT_ONCE });
  const { origin, pathname: path } = new URL(url);
  const send = async (method: 'POST' | 'DELETE', headers: Record<string, string>, body?: string) => {
    const response = await agent.request({ origin, path, method, headers, body: body ?? null });
    const text = await response.body.text();
    if (response.statusCode >= 300) throw new Error(`unexpected answer: ${response.statusCode} ${text}`);
    return { headers: response.headers, text };
  };
  const headersIn = (session: string) => ({
    ...JSON_HEADERS,
    'mcp-session-id': session,
    'mcp-protocol-version': '2025-11-25',
  });
  return {
    open: async (): Promise<string> => {
      const { headers } = await send('POST', JSON_HEADERS, INITIALIZE);
      const session = String(headers['mcp-session-id']);
      await send('POST', headersIn(session), INITIALIZED);
      return session;
    },
    call: async (session: string): Promise<void> => {
      const { headers, body } = postOf({ url, era: 'legacy', kind: 'echo', prefix: 'bench_' }, session);
      const { text } = await send('POST', headers, body);
      if (!text.includes('"content"') || text.includes('"isError"')) throw new Error(text);
    },
    end: (session: string) => send('DELETE', headersIn(session)),
    close: () => agent.close(),
  };
};

/** Runs `work` so many times, AT_ONCE of them under way. */
const many = async <T>(times: number, work: () => Promise<T>): Promise<T[]> => {
  const results: T[] = [];
  let begun = 0;
  const worker = async (): Promise<void> => {
    while (begun < times) {
      begun += 1;
      results.push(await work());
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return results;
};

export interface Lives {
  readonly perSecond: number;
  readonly backendRequests: number;
}

/** Whole lives of sessions: initialize, initialized, one call, DELETE. */
export const sessionLives = async (processes: Processes, backend: Started, times: number): Promise<Lives> => {
  const vmcp = await processes.vmcp(`${backend.url}/mcp`);
  const clients = clientsOf(vmcp.url);
  const live = async (): Promise<void> => {
    const session = await clients.open();
    await clients.call(session);
    await clients.end(session);
  };
  await many(AT_ONCE, live);
  await settled(backend);
  const before = await requestsAt(backend);
  const start = performance.now();
  await many(times, live);
  const seconds = (performance.now() - start) / 1_000;
  await settled(backend);
  const backendRequests = ((await requestsAt(backend)) - before) / times;
  await clients.close();
  vmcp.end();
  return { perSecond: times / seconds, backendRequests };
};

/** The end of a backend session follows that of the client's session. */
const settled = async (backend: Started): Promise<void> => {
  for (let last = -1, now = await requestsAt(backend); now !== last;) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    [last, now] = [now, await requestsAt(backend)];
  }
};

/** Kilobytes of resident memory that one idle session costs, garbage that is not collected yet included. */
export const idleSessionKb = async (
  processes: Processes,
  backend: Started,
  { sessions, areWarm }: { readonly sessions: number; readonly areWarm: boolean },
): Promise<number> => {
  const vmcp = await processes.vmcp(`${backend.url}/mcp`);
  const clients = clientsOf(vmcp.url);
  const open = async (): Promise<void> => {
    const session = await clients.open();
    if (areWarm) await clients.call(session);
  };
  // What the process needs once, however many sessions there are.
  await many(Math.ceil(sessions / 10), open);
  const before = await residentOf(vmcp.pid);
  await many(sessions, open);
  const after = await residentOf(vmcp.pid);
  await clients.close();
  vmcp.end();
  return (after - before) / sessions / KB;
};

export interface Memory {
  readonly peakMb: number;
  /** After a quarter of the calls, and at the end. */
  readonly quarterMb: number;
  readonly endMb: number;
  readonly calls: number;
}

const MB = 1_000_000;

export interface Peak {
  readonly clients: number;
  /** What is aimed at. */
  readonly mostMb: number;
  readonly peakMb: number;
}

/** What is measured of sessions and of memory. */
export interface Sessions {
  readonly lives: Lives;
  /** Kilobytes of an idle session, without and with a backend session. */
  readonly idleKb: number;
  readonly warmKb: number;
  readonly memory: Memory;
  readonly peaks: readonly Peak[];
}

/** Peaks of resident memory with 100 KB both ways, each of a process of its own. */
export const peaksBothWays = async (
  processes: Processes,
  backend: Started,
  milliseconds: number,
): Promise<readonly Peak[]> => {
  const peaks: Peak[] = [];
  for (const [clients, mostMb] of [
    [50, 200],
    [200, 300],
  ] as const) {
    const runs: number[] = [];
    for (let run = 0; run < 3; run += 1) {
      const vmcp = await processes.vmcp(`${backend.url}/mcp`);
      const load = await processes.load({ url: vmcp.url, era: 'legacy', prefix: 'bench_', clients, kind: 'both' });
      await load.run(milliseconds);
      load.end();
      runs.push((await peakResidentOf(vmcp.pid)) / MB);
      vmcp.end();
    }
    peaks.push({ clients, mostMb, peakMb: median(runs) });
  }
  return peaks;
};

/** Resident memory under 50 clients with answers of 100 KB, and over many calls of 1 KB. */
export const memoryUnderLoad = async (
  processes: Processes,
  backend: Started,
  { calls, milliseconds }: { readonly calls: number; readonly milliseconds: number },
): Promise<Memory> => {
  const vmcp = await processes.vmcp(`${backend.url}/mcp`);
  const load = { url: vmcp.url, era: 'legacy', prefix: 'bench_', clients: 50 } as const;
  const large = await processes.load({ ...load, kind: 'large' });
  await large.run(milliseconds);
  large.end();
  const peakMb = (await peakResidentOf(vmcp.pid)) / MB;
  const small = await processes.load({ ...load, kind: 'echo' });
  let done = 0;
  let quarterMb = 0;
  while (done < calls) {
    done += (await small.run(milliseconds)).calls;
    if (quarterMb === 0 && done >= calls / 4) quarterMb = (await residentOf(vmcp.pid)) / MB;
  }
  small.end();
  const endMb = (await residentOf(vmcp.pid)) / MB;
  vmcp.end();
  return { peakMb, quarterMb, endMb, calls: done };
};
