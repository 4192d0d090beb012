import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, createReadStream, openSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, test } from 'node:test';
import { covers } from '../../../requirements.ts';
import { resultText } from '../../../fixtures/answers.ts';
import { startBackend } from '../../../fixtures/backend.ts';
import { INITIALIZE, openSession, post } from '../../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../../fixtures/runtime.ts';
import { eventsIn, shortly, startAudited } from './audited.ts';

const program = new URL('../../../../runtime/main.ts', import.meta.url).pathname;

describe('mode blocking', () => {
  const extensions = { audit: { mode: 'blocking', batchMaxWait: '30s' } };

  test('has an event in the file when its answer comes', async (t) => {
    const { url, logFile } = await startAudited(t, { extensions });
    const session = await openSession(url);
    for (const done of [1, 2, 3]) {
      await session.call('a_t');
      const calls = eventsIn(await readFile(logFile, 'utf8')).filter(({ type }) => type === 'mcp_tool_call');
      assert.equal(calls.length, done);
    }
    await fetch(new URL('/elsewhere', url));
    assert.match(await readFile(logFile, 'utf8'), /"http_request"/);
  });

  test('serves on where nothing can be written', async (t) => {
    const { url, allEvents } = await startAudited(t, { extensions, audit: { logFile: '/no/such/folder/audit.log' } });
    assert.equal(resultText(await (await openSession(url)).call('a_t')), 't {}');
    assert.deepEqual(await allEvents(), []);
  });
});

describe('mode blocking-strict', () => {
  const extensions = { audit: { mode: 'blocking-strict' } };

  test('puts each request on record before any work for it', async (t) => {
    const { url, events } = await startAudited(t, { extensions });
    await (await openSession(url)).call('a_t');
    const log = await events();
    assert.deepEqual(shortly(log), [
      'request_received success',
      'mcp_initialize success',
      'request_received success',
      'mcp_notification success',
      'request_received success',
      'mcp_tool_call success a_t',
    ]);
    assert.equal(log[4]?.correlation_id, log[5]?.correlation_id);
  });

  test('refuses what cannot be put on record, without work for it, until that can be again', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'vmcp-audit-'));
    t.after(() => rm(folder, { recursive: true }));
    const logFile = join(folder, 'later', 'audit.log');
    const { url, backend } = await startAudited(t, { extensions, audit: { logFile } });
    const refused = await post(url, INITIALIZE);
    assert.equal(refused.status, 503);
    assert.equal((refused.json as { error: { data: { reason: string } } }).error.data.reason, 'audit_unavailable');
    assert.equal(refused.text.includes(folder), false);
    assert.equal(
      backend.requests.some(({ method }) => method === 'tools/call'),
      false,
    );
    await mkdir(dirname(logFile));
    assert.equal(resultText(await (await openSession(url)).call('a_t')), 't {}');
    const log = eventsIn(await readFile(logFile, 'utf8'));
    assert.equal(log[0]?.type, 'audit_started', 'what waited is not lost');
  });
});

describe('a filter of event types', () => {
  const extensions = { audit: { mode: 'blocking-strict' } };

  test('makes mode blocking-strict no less strict', async (t) => {
    for (const filter of [{ eventTypes: ['mcp_tool_call'] }, { excludeEventTypes: ['request_received'] }]) {
      const { url } = await startAudited(t, { extensions, audit: { logFile: '/no/such/folder/audit.log', ...filter } });
      assert.equal((await post(url, INITIALIZE)).status, 503);
    }
  });
});

describe('audit settings', () => {
  test('change while the server runs: on, other data, another file, off', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'vmcp-audit-'));
    t.after(() => rm(folder, { recursive: true }));
    const backend = await startBackend({ tools: ['t'] });
    const [first, second] = [join(folder, 'first.log'), join(folder, 'second.log')];
    const files = (audit: object) =>
      configFile({ a: backend.url }, { audit, extensions: { audit: { mode: 'blocking' } } });
    const running = await startRuntime(files({ enabled: false, logFile: first }));
    t.after(async () => {
      await running.stop();
      await backend.close();
    });
    const session = await openSession(running.url);
    const set = (audit: object) => assert.deepEqual(running.reload(files(audit)), { ok: true });
    await session.request('ping');
    set({ enabled: true, logFile: first });
    await session.request('ping');
    set({ enabled: true, logFile: first, includeRequestData: true });
    await session.request('ping');
    set({ enabled: true, logFile: second });
    await session.request('ping');
    set({ enabled: false, logFile: second });
    await session.request('ping');
    await running.stop();
    const [one, two] = [eventsIn(await readFile(first, 'utf8')), eventsIn(await readFile(second, 'utf8'))];
    assert.deepEqual(shortly(one), [
      'audit_started success',
      'mcp_ping success',
      'audit_started success',
      'mcp_ping success',
      'audit_stopped success',
    ]);
    assert.deepEqual([one[1]?.data, one[3]?.data !== undefined], [undefined, true]);
    assert.deepEqual(shortly(two), ['audit_started success', 'mcp_ping success', 'audit_stopped success']);
    assert.deepEqual(
      [...one, ...two].map(({ sequence }) => sequence),
      [1, 2, 3, 4, 5, 6, 7, 8],
    );
  });
});

describe('standard output', () => {
  const startProcess = async (t: { after: (end: () => unknown) => void }, extensions: object) => {
    const folder = await mkdtemp(join(tmpdir(), 'vmcp-audit-'));
    const backend = await startBackend({ tools: ['t'] });
    const [file] = configFile({ a: backend.url }, { audit: { enabled: true }, extensions });
    const config = join(folder, 'config.yaml');
    await writeFile(config, file?.text ?? '');
    // Not the socket that Node would make: a FIFO, as containers have it.
    const fifo = join(folder, 'stdout');
    execFileSync('mkfifo', [fifo]);
    const [keep, input] = [openSync(fifo, 'r+'), openSync(fifo, 'r')];
    const child = spawn(process.execPath, [program, 'serve', '-c', config, '--port', '0', '--management-port', '0'], {
      stdio: ['ignore', keep, 'inherit'],
    });
    t.after(async () => {
      child.kill('SIGKILL');
      await backend.close();
      await rm(folder, { recursive: true });
    });
    const lines: string[] = [];
    const stdout = createReadStream('', { fd: input });
    const reader = createInterface(stdout);
    reader.on('line', (line) => lines.push(line));
    const ended = once(reader, 'close');
    // Ends the FIFO once the process has, too.
    child.on('exit', () => closeSync(keep));
    const urlIn = () => lines.map((line) => JSON.parse(line) as { readonly url?: string }).find(({ url }) => url)?.url;
    while (urlIn() === undefined) await once(reader, 'line');
    const audited = () => eventsIn(lines.filter((line) => line.includes('"AUDIT"')).join('\n'));
    return { child, lines, stdout, ended, audited, url: urlIn() ?? '' };
  };

  covers('audit.log-file.empty-stdout');
  test('gets the events where no file is named, beside the log', async (t) => {
    const { child, audited, lines, ended, url } = await startProcess(t, {});
    await (await openSession(url)).call('a_t');
    child.kill('SIGTERM');
    await ended;
    assert.ok(shortly(audited()).includes('mcp_tool_call success a_t'));
    assert.equal(audited().at(-1)?.type, 'audit_stopped');
    for (const line of lines) JSON.parse(line);
  });

  test('that nobody reads holds up no request, fills no memory, and loses no event without a trace', async (t) => {
    const { child, stdout, audited, ended, url } = await startProcess(t, {
      audit: { bufferSize: 50, batchMaxWait: '1ms' },
    });
    const session = await openSession(url);
    stdout.pause();
    // More than the pipe, the reader of this process and the buffer take.
    for (let i = 0; i < 600; i += 1) await session.request('ping');
    stdout.resume();
    child.kill('SIGTERM');
    await ended;
    const log = audited();
    const last = log.at(-1) ?? assert.fail();
    const { dropped } = last.metadata.extra['settings'] as { readonly dropped: number };
    assert.equal(last.type, 'audit_stopped');
    assert.ok(dropped > 0);
    assert.equal(last.sequence - log.length, dropped, 'the gaps in the numbers are what was dropped');
    const numbers = log.map(({ sequence }) => sequence);
    assert.deepEqual(
      numbers,
      numbers.toSorted((a, b) => a - b),
    );
  });
});

covers('events.no-webhooks');
test('a whole session with audit leads to no request but those to the backend', async (t) => {
  const { url, backend, allEvents } = await startAudited(t, { audit: { includeRequestData: true } });
  const dialled: string[] = [];
  const { subscribe, unsubscribe } = await import('node:diagnostics_channel');
  const onSocket = (message: unknown): void => {
    const { socket } = message as { readonly socket: { readonly remotePort?: number } };
    dialled.push(String(socket.remotePort));
  };
  subscribe('undici:client:connected', onSocket);
  t.after(() => unsubscribe('undici:client:connected', onSocket));
  const session = await openSession(url);
  await session.call('a_t');
  await session.end();
  assert.ok(dialled.includes(String(backend.port)), 'connections are seen');
  const own = [new URL(url).port, String(backend.port)];
  assert.deepEqual(
    [...new Set(dialled)].filter((port) => !own.includes(port)),
    [],
  );
  assert.ok((await allEvents()).length > 3);
});
