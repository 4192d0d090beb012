import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { VmcpError, type ErrorCode } from '../../../runtime/errors.ts';
import { cutLog, failureLog, type Log } from '../../../runtime/observe/index.ts';
import type { Running } from '../../../runtime/start.ts';
import { answerStatus, type FixtureBackend, startBackend } from '../../fixtures/backend.ts';
import { openSession, post, type RawAnswer, type RawSession } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';

const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };

interface Line {
  readonly level: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

const collecting = (): { readonly log: Log; readonly lines: Line[] } => {
  const lines: Line[] = [];
  const at = (level: string) => (fields: Line['fields']) => void lines.push({ level, fields });
  const log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  return { log: { ...log, setLevel: () => {}, setFields: () => {} }, lines };
};

describe('of one text', () => {
  let now: number;
  let lines: Line[];
  let fail: (code: ErrorCode, message: string) => void;
  beforeEach(() => {
    now = 1_000_000;
    const collected = collecting();
    lines = collected.lines;
    const tell = failureLog(collected.log, () => now);
    fail = (code, message) => tell(new VmcpError(code, message), { clientAddress: '::1', correlationId: () => 'id' });
  });
  const warned = (): readonly unknown[] =>
    lines.filter(({ level }) => level === 'warn').map(({ fields }) => [fields['reason'], fields['unsaid']]);

  test('ten failures are told in ten seconds, then how many more there were; the level debug has them all', () => {
    for (let each = 0; each < 25; each += 1) fail('backend_timeout', 'a is slow');
    fail('backend_timeout', 'b is slow');
    assert.deepEqual(warned(), [
      ...Array.from({ length: 10 }, () => ['a is slow', undefined]),
      ['b is slow', undefined],
    ]);
    assert.equal(lines.length, 26);
    now += 10_000;
    fail('backend_timeout', 'a is slow');
    fail('backend_timeout', 'a is slow');
    assert.deepEqual(warned().slice(11), [
      ['a is slow', 15],
      ['a is slow', undefined],
    ]);
  });

  test('faults of our own are each an error', () => {
    for (let each = 0; each < 25; each += 1) fail('internal', 'internal error');
    assert.equal(lines.filter(({ level }) => level === 'error').length, 25);
  });
});

describe('the correlation id of a refusal is in the log', () => {
  let backend: FixtureBackend;
  let running: Running;
  let session: RawSession;
  let lines: Line[];

  beforeEach(async () => {
    const collected = collecting();
    lines = collected.lines;
    backend = await startBackend({
      tools: ['t'],
      on: ({ recorded }) => (recorded.method === 'tools/call' ? answerStatus(500) : undefined),
    });
    running = await startRuntime(configFile({ a: backend.url }), {}, { log: collected.log });
    session = await openSession(running.url);
    await session.toolNames();
  });
  afterEach(async () => {
    await running.stop();
    await backend.close();
  });

  const modern = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
      name: 'a_t',
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  };
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call' };

  const rows: readonly (readonly [string, string, () => Promise<RawAnswer>])[] = [
    ['a backend that fails', 'warn', () => session.call('a_t')],
    [
      'one that fails a client of 2026-07-28',
      'warn',
      () => post(running.url, modern, { ...headers, 'mcp-name': 'a_t' }),
    ],
    ['an unknown tool', 'debug', () => session.call('nope')],
    ['an unknown session', 'debug', () => session.send(PING, { 'mcp-session-id': 'nope' })],
    ['a foreign Origin', 'debug', () => session.send({}, { origin: 'https://evil.example' })],
    ['no JSON', 'debug', () => session.send('{')],
    ['a media type that is not taken', 'debug', () => session.send({}, { 'content-type': 'text/plain' })],
    ['a missing header', 'debug', () => post(running.url, modern, headers)],
  ];
  for (const [what, level, send] of rows) {
    test(`${what}: at the level ${level}`, async () => {
      const { text } = await send();
      const id = /"correlationId":"([^"]+)"/.exec(text)?.[1];
      assert.ok(id, text);
      const told = lines.filter(({ fields }) => fields['correlationId'] === id);
      assert.deepEqual(
        told.map((line) => line.level),
        [level],
      );
    });
  }
});

test('a client that is cut off is told of with the reason, and of many for one reason the number', () => {
  let now = 1_000_000;
  const { log, lines } = collecting();
  const tell = cutLog(log, () => now);
  const client = { clientAddress: '192.0.2.1', correlationId: () => 'c' };
  for (let n = 0; n < 12; n += 1) tell('it is slow', client);
  now += 10_000;
  tell('it is slow', client);
  const fields = { reason: 'it is slow', correlationId: 'c', client: '192.0.2.1' };
  assert.deepEqual(lines.slice(9), [
    { level: 'warn', fields },
    { level: 'debug', fields },
    { level: 'debug', fields },
    { level: 'warn', fields: { ...fields, unsaid: 2 } },
  ]);
});
