import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startConformanceServer } from '../../test/fixtures/conformance/server.ts';
import { residentOf, startProcesses } from '../processes.ts';
import { publish } from '../publish.ts';
import { atLeast, atMost, targetTable } from '../targets.ts';
import { connectLegacy, connectModern, type Connect, type SoakClient } from './clients.ts';
import { startFlapping } from './flapping.ts';

/** `npm run bench:soak [-- --minutes 15 --write]`: see README.md in the folder above. */
const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '15' }, write: { type: 'boolean', default: false } },
});

/** Of each revision. */
const CLIENTS = 12;
const CALLS_PER_SECOND = 373;
/** Before a client goes, and a new one comes. */
const CALLS_OF_A_CLIENT = 200;
const MB = 1_000_000;

const TOOLS = ['simple_text', 'image_content', 'multiple_content_types', 'tool_with_progress', 'tool_with_logging'];
const ASKING = ['sampling', 'elicitation', 'input_required_result_elicitation'];

const seen = { answered: 0, atFlapping: 0, answeredAtFlapping: 0, failed: 0, firstFailure: '' };
let ends = 0;

const processes = await startProcesses();
const servers = {
  legacy: await startConformanceServer('legacy'),
  modern: await startConformanceServer('modern'),
  both: await startConformanceServer('both'),
};
const bench = await processes.backend();
const flapping = [await startFlapping(servers.legacy.url), await startFlapping(servers.modern.url)] as const;
try {
  const vmcp = await processes.vmcp({
    bench: `${bench.url}/mcp`,
    modern_bench: `${bench.url}/modern/mcp`,
    ...Object.fromEntries(Object.entries(servers).map(([name, { url }]) => [name, url])),
    away_legacy: flapping[0].url,
    away_modern: flapping[1].url,
  });
  const begins = Date.now();
  ends = begins + Number(values.minutes) * 60_000;
  const loops = Array.from({ length: CLIENTS }, () => [live(vmcp.url, connectLegacy), live(vmcp.url, connectModern)]);
  const resident: number[] = [];
  while (Date.now() < ends) {
    resident.push((await residentOf(vmcp.pid)) / MB);
    await delay(1_000);
  }
  await Promise.all(loops.flat());
  await report(resident, (Date.now() - begins) / 1_000);
} finally {
  for (const { end } of flapping) end();
  await Promise.all(Object.values(servers).map(({ close }) => close()));
  await processes.endAll();
}

/** One client after the other, each with its calls. */
async function live(url: string, connect: Connect): Promise<void> {
  await delay(Math.random() * 2_000);
  while (Date.now() < ends) {
    const client = await connect(url).catch(noteFailure);
    if (!client) {
      await delay(1_000);
      continue;
    }
    await use(client);
    await client.close().catch(() => {});
  }
}

async function use(client: SoakClient): Promise<void> {
  const names = await client.toolNames().catch(noteUnlisted);
  if (!names) {
    await delay(1_000);
    return;
  }
  const known = [...TOOLS, ...ASKING].map((name) => `_test_${name}`);
  const wanted = names.filter((name) => known.some((end) => name.endsWith(end)) || /bench_(?:echo|large)$/.test(name));
  for (let calls = 0; calls < CALLS_OF_A_CLIENT && Date.now() < ends; calls += 1) {
    const due = Date.now() + (2 * CLIENTS * 1_000) / CALLS_PER_SECOND;
    const name = wanted[Math.floor(Math.random() * wanted.length)];
    if (name) await call(client, name);
    await delay(Math.max(0, due - Date.now()));
  }
}

async function call(client: SoakClient, name: string): Promise<void> {
  const message = `${randomUUID()} ${'x'.repeat(Math.random() < 0.05 ? 100_000 : 1_000)}`;
  const isEcho = name.endsWith('bench_echo');
  const result = await client.call(name, isEcho ? { message } : {}).catch(String);
  const isAnswered =
    result.startsWith('{') && !result.includes('"isError":true') && (!isEcho || result.includes(message));
  if (isAnswered) seen.answered += 1;
  if (!name.startsWith('away_')) {
    if (!isAnswered) noteFailure(`${name}: ${result.slice(0, 200)}`);
    return;
  }
  seen.atFlapping += 1;
  if (isAnswered) seen.answeredAtFlapping += 1;
}

/** Until a backend has been heard of for the first time, lists say that they are not whole. */
function noteUnlisted(error: unknown): undefined {
  if (!String(error).includes('the list is incomplete')) noteFailure(error);
}

function noteFailure(error: unknown): undefined {
  seen.failed += 1;
  seen.firstFailure ||= String(error);
}

async function report(resident: readonly number[], seconds: number): Promise<void> {
  const { answered, atFlapping, answeredAtFlapping, failed, firstFailure } = seen;
  const quarter = Math.ceil(resident.length / 4);
  const firstQuarter = Math.max(...resident.slice(0, quarter));
  const table = targetTable([
    atMost('peak RSS in MB', 250, Math.max(...resident), 0),
    atMost(
      'peak RSS of the last quarter, × that of the first',
      1.1,
      Math.max(...resident.slice(-quarter)) / firstQuarter,
    ),
    atMost('calls that failed at backends that were there', 0, failed, 0),
    atLeast('calls/s', 0.9 * CALLS_PER_SECOND, (answered + atFlapping - answeredAtFlapping) / seconds),
    atLeast(
      'share of calls answered at backends that are away a third of the time',
      0.5,
      answeredAtFlapping / atFlapping,
    ),
  ]);
  const text = `${table}\n\n${answered} calls were answered; ${atFlapping - answeredAtFlapping} more found their backend away.`;
  console.log(failed > 0 ? `${text}\nFirst failure: ${firstFailure}` : text);
  if (values.write) await publish('soak', `${values.minutes} minutes`, text);
}
