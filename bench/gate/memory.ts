import { type GatewayOptions, type Processes, residentOf, type Started } from '../processes.ts';

const MB = 1_000_000;
const CLIENTS = 20;

/**
 * Megabytes of resident memory that live tokens add, each of a user with one call in 2026-07-28; garbage that is not
 * collected yet included. As many calls of one user come first.
 */
export const tokenMemory = async (
  processes: Processes,
  backend: Started,
  { config, tokens }: { readonly config: GatewayOptions['config']; readonly tokens: readonly string[] },
): Promise<number> => {
  const vmcp = await processes.vmcp(`${backend.url}/modern/mcp`, { config: config ?? {} });
  const moreArguments = { path: '/srv/reports/0.txt', mode: 'append' };
  const callAll = async (users: readonly string[]): Promise<void> => {
    const load = { url: vmcp.url, era: 'modern', kind: 'echo', prefix: 'bench_', clients: CLIENTS } as const;
    const loader = await processes.load({ ...load, moreArguments, tokens: users });
    for (let calls = 0; calls < tokens.length;) calls += (await loader.run(ROUND_MS)).calls;
    loader.end();
  };
  await callAll(tokens.slice(0, 1));
  const before = await residentOf(vmcp.pid);
  await callAll(tokens);
  const after = await residentOf(vmcp.pid);
  vmcp.end();
  return (after - before) / MB;
};

const ROUND_MS = 100;
