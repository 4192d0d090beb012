import { parseArgs } from 'node:util';
import { AUDIENCE, startIssuer } from '../gate/issuer.ts';
import { joined, measureAll, type Path, type Scenario, warmUp } from '../paths.ts';
import { type Started, startProcesses } from '../processes.ts';
import { publish } from '../publish.ts';
import { type EraMeasured, EXCHANGED, reportOf, UNAUTHENTICATED } from './report.ts';
import { measureSigning } from './signing.ts';

/** `npm run bench:outgoing [-- --rounds 4 --windows 8 --seconds 0.6 --write | --quick]`: see ../README.md. */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '4' },
    windows: { type: 'string', default: '8' },
    seconds: { type: 'string', default: '0.6' },
    write: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
  },
});

const size = values.quick
  ? { warmUpMs: 0, settleMs: 50, rounds: 1, windows: 1, milliseconds: 50, signatures: 50 }
  : {
      warmUpMs: 20_000,
      settleMs: 3_000,
      rounds: Number(values.rounds),
      windows: Number(values.windows),
      milliseconds: Number(values.seconds) * 1_000,
      signatures: 10_000,
    };

const CLIENTS = [50, 1];

const processes = await startProcesses();
try {
  const issuer = await startIssuer(processes);
  const tokens = await issuer.tokens(Math.max(...CLIENTS));
  const tokenUrl = `${(await processes.role('outgoing/token-endpoint.ts')).url}/token`;
  const oidc = { issuer: issuer.url, audience: AUDIENCE, clientId: 'bench', insecureAllowHttp: true };
  const incomingAuth = { type: 'oidc', oidc: { ...oidc, jwksAllowPrivateIp: true } };
  const strategies = {
    [UNAUTHENTICATED]: { type: 'unauthenticated' },
    header_injection: {
      type: 'header_injection',
      headerInjection: { headerName: 'X-Api-Key', headerValue: 'x'.repeat(32) },
    },
    [EXCHANGED]: { type: 'token_exchange', tokenExchange: { tokenUrl, audience: 'https://backend.example' } },
  };
  const eras: EraMeasured[] = [];
  for (const era of ['legacy', 'modern'] as const)
    eras.push(await measureEra(era, { strategies, incomingAuth, tokens }));
  const report = reportOf({ eras, signing: measureSigning(size.signatures) });
  console.log(report);
  const { rounds, windows, seconds } = values;
  if (values.write) await publish('outgoing', `${rounds} rounds of ${windows} windows of ${seconds} s`, report);
} finally {
  await processes.endAll();
}

interface Compared {
  /** Entries of `outgoingAuth`, by the name of the path. */
  readonly strategies: Readonly<Record<string, object>>;
  /** The same for all. */
  readonly incomingAuth: object;
  readonly tokens: readonly string[];
}

/**
 * One revision after the other, in rounds, each with processes of its own: two processes of one and the same
 * configuration differ by more than a credential costs.
 */
async function measureEra(era: Scenario['era'], compared: Compared): Promise<EraMeasured> {
  const first = await measureRound(era, compared);
  let { samples } = first;
  for (let round = 1; round < size.rounds; round += 1)
    samples = joined(samples, (await measureRound(era, compared)).samples);
  return { ...first, samples };
}

async function measureRound(
  era: Scenario['era'],
  { strategies, incomingAuth, tokens }: Compared,
): Promise<EraMeasured> {
  const backend = await processes.backend();
  const path = era === 'modern' ? '/modern/mcp' : '/mcp';
  const proxy = await processes.byteProxy(backend.url);
  const paths: Path[] = [{ name: 'byte proxy', url: `${proxy.url}${path}`, prefix: '', pid: proxy.pid }];
  const started: Started[] = [backend, proxy];
  for (const [name, strategy] of Object.entries(strategies)) {
    const outgoingAuth = { source: 'inline', backends: { bench: strategy } };
    const gateway = await processes.vmcp(`${backend.url}${path}`, { config: { incomingAuth, outgoingAuth } });
    started.push(gateway);
    paths.push({ name, url: gateway.url, pid: gateway.pid, prefix: 'bench_', tokens });
  }
  const all = CLIENTS.map((clients): Scenario => ({ name: '1 KB call', era, kind: 'echo', clients, paths }));
  const scenarios = values.quick ? all.slice(0, 1) : all;
  if (size.warmUpMs > 0) await warmUp(processes, scenarios, { milliseconds: size.warmUpMs, slices: 6 });
  const samples = await measureAll(processes, backend, scenarios, { ...size, rounds: 1 });
  for (const { end } of started) end();
  return { era, scenarios, samples };
}
