import { parseArgs } from 'node:util';
import { measureAll, type Path, type Scenario, warmUp } from '../paths.ts';
import { type Processes, residentOf, startProcesses, type Started } from '../processes.ts';
import { publish } from '../publish.ts';
import { CALL, EACH, reportOf, STEPS, type Waiting } from './report.ts';

/** `npm run bench:workflows [-- --rounds 2 --windows 12 --seconds 1 --write | --quick]`: see ../README.md. */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '2' },
    windows: { type: 'string', default: '12' },
    seconds: { type: 'string', default: '1' },
    write: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
  },
});

const size = values.quick
  ? { warmUpMs: 0, settleMs: 50, rounds: 1, windows: 1, milliseconds: 200, items: 20, waiting: 20 }
  : {
      warmUpMs: 45_000,
      settleMs: 5_000,
      rounds: Number(values.rounds),
      windows: Number(values.windows),
      milliseconds: Number(values.seconds) * 1_000,
      items: 1_000,
      waiting: 10_000,
    };

/** Items that a `forEach` works on at one time: it is compared with so many clients, who have as many calls under way. */
const PARALLEL = 10;

/** Each step sends on what the one before it has given, as a call sends its message. */
const stepsOf20 = Array.from({ length: 20 }, (_, index) => ({
  id: `s${index}`,
  tool: 'bench.echo',
  arguments: { message: index === 0 ? '{{.params.message}}' : `{{.steps.s${index - 1}.output.text}}` },
}));

/** The load generator calls `echo` behind a prefix. */
const compositeTools = [
  { name: 'steps_echo', steps: stepsOf20 },
  {
    name: 'each_echo',
    steps: [
      {
        id: 'each',
        type: 'forEach',
        collection: JSON.stringify(Array.from({ length: size.items }, (_, index) => index)),
        maxIterations: 1_000,
        maxParallel: PARALLEL,
        step: { tool: 'bench.echo', arguments: { message: '{{.params.message}}' } },
      },
    ],
    output: { properties: { done: { type: 'integer', value: '{{.steps.each.output.completed}}' } } },
  },
  { name: 'asks_echo', steps: [{ id: 'ask', type: 'elicitation', message: 'Go on?' }] },
];

/** So many clients on each path, whatever it is compared by. */
const withClients = ({ paths, ...rest }: Scenario, clients: number): Scenario => ({
  ...rest,
  clients,
  paths: paths.map((path) => ({ ...path, clients })),
});

const processes = await startProcesses();
try {
  const backend = await processes.backend();
  const gateway = await processes.vmcp(`${backend.url}/mcp`, { config: { compositeTools } });
  const path = (name: string, prefix: string): Path => ({ name, url: gateway.url, pid: gateway.pid, prefix });
  const all: readonly Scenario[] = [
    scenario(200, [path(CALL, 'bench_'), path(STEPS, 'steps_')]),
    ...[1, 10].map((clients) => {
      const calls = { ...path(CALL, 'bench_'), clients: clients * PARALLEL };
      return scenario(clients, [calls, path(EACH, 'each_')]);
    }),
  ];
  const scenarios = values.quick ? all.map((each, index) => withClients(each, index + 1)) : all;
  if (size.warmUpMs > 0)
    await warmUp(processes, [scenario(50, [path(CALL, 'bench_')])], { milliseconds: size.warmUpMs, slices: 6 });
  const samples = await measureAll(processes, backend, scenarios, size);
  const report = reportOf({ scenarios, samples, waiting: await measureWaiting(processes, backend) });
  console.log(report);
  const { rounds, windows, seconds } = values;
  if (values.write) await publish('workflows', `${rounds} rounds of ${windows} windows of ${seconds} s`, report);
} finally {
  await processes.endAll();
}

function scenario(clients: number, paths: readonly Path[]): Scenario {
  return { name: 'workflows', era: 'legacy', kind: 'echo', clients, paths };
}

/** Memory of a process of its own, before and after so many workflows have asked, and none was answered. */
async function measureWaiting({ vmcp }: Processes, backend: Started): Promise<Waiting> {
  const { url, pid } = await vmcp(`${backend.url}/mcp`, { config: { compositeTools } });
  await askedFor(url, Math.min(size.waiting, 1_000));
  const before = await residentOf(pid);
  await askedFor(url, size.waiting);
  return { workflows: size.waiting, bytes: (await residentOf(pid)) - before };
}

async function askedFor(url: string, times: number): Promise<void> {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'asks_echo',
  };
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
  };
  const params = { name: 'asks_echo', arguments: {}, _meta: meta };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const askOften = async (): Promise<void> => {
    for (let left = times / 20; left > 0; left -= 1) {
      const text = await (await fetch(url, { method: 'POST', headers, body })).text();
      if (!text.includes('"input_required"')) throw new Error(`no question: ${text}`);
    }
  };
  await Promise.all(Array.from({ length: 20 }, askOften));
}
