import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../../runtime/start.ts';
import { until } from '../../cluster/until.ts';
import { resultText } from '../../fixtures/answers.ts';
import {
  answerJson,
  answerStatus,
  type Behaviour,
  type Exchange,
  type FixtureBackend,
  startBackend,
} from '../../fixtures/backend.ts';
import { openSession, post, type RawAnswer } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';

const DISCOVERED = '{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}';
const LISTED = '{"resultType":"complete","tools":[{"name":"t","inputSchema":{"type":"object"}}]}';
const CALLED = '{"resultType":"complete","content":[{"type":"text","text":"in 2026-07-28"}]}';

/** A server that also speaks 2026-07-28, whatever it is besides. */
const modernToo = ({ recorded: { headers, method } }: Exchange): Behaviour | undefined => {
  if (headers['mcp-protocol-version'] !== '2026-07-28') return undefined;
  if (method === 'server/discover') return answerJson(DISCOVERED);
  return answerJson(method === 'tools/list' ? LISTED : CALLED);
};

const legacyTool = { tools: ['t'], on: modernToo };
const inSession = 't {"x":1}';

describe('a backend of both eras', () => {
  let backend: FixtureBackend;
  let running: Running;
  beforeEach(async () => {
    backend = await startBackend(legacyTool);
  });
  afterEach(async () => {
    await running.stop();
    await backend.close();
  });

  const start = async (era?: 'legacy' | 'modern') => {
    const extensions = era ? { perWorkload: { a: { era } } } : {};
    running = await startRuntime(configFile({ a: backend.url }, { extensions }));
  };
  const callLegacy = async (times = 1): Promise<readonly string[]> => {
    const session = await openSession(running.url);
    const answers: string[] = [];
    for (let n = 0; n < times; n += 1) answers.push(resultText(await session.call('a_t', { x: 1 })));
    return answers;
  };
  const callModern = (): Promise<RawAnswer> => {
    const meta =
      '"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}';
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a_t","arguments":{"x":1},"_meta":{${meta}}}}`;
    return post(running.url, body, {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'a_t',
    });
  };
  const handshakes = (): number => backend.requests.filter(({ method }) => method === 'initialize').length;

  test('is spoken to in the era of the client at hand', async () => {
    await start();
    assert.equal(resultText(await callModern()), 'in 2026-07-28');
    assert.deepEqual(await callLegacy(2), [inSession, inSession]);
    assert.equal(handshakes(), 1);
  });

  test('that keeps no session is spoken to in 2026-07-28, where it can at least ask', async () => {
    backend.set({ ...legacyTool, isStateless: true });
    await start();
    assert.deepEqual(await callLegacy(2), ['in 2026-07-28', 'in 2026-07-28']);
    assert.deepEqual(await callLegacy(), ['in 2026-07-28']);
    assert.equal(handshakes(), 1);
  });

  test('is asked for a session again once it has been away', async () => {
    let isOpening = false;
    const refusing = (exchange: Exchange): Behaviour | undefined =>
      exchange.recorded.method === 'initialize' && !isOpening ? answerStatus(400) : modernToo(exchange);
    backend.set({ tools: ['t'], on: refusing });
    const health = { healthCheckInterval: '20ms', unhealthyThreshold: 1 };
    running = await startRuntime(configFile({ a: backend.url }, { operational: { failureHandling: health } }));
    assert.deepEqual(await callLegacy(), ['in 2026-07-28']);
    isOpening = true;
    assert.deepEqual(await callLegacy(), ['in 2026-07-28']);
    backend.set({ tools: ['t'], on: () => answerStatus(500) });
    const before = backend.requests.length;
    await backend.received((request) => backend.requests.indexOf(request) > before);
    backend.set({ tools: ['t'], on: refusing });
    await until('a call in a session', async () => (await callLegacy())[0] === inSession || undefined);
  });

  test('whose server is overloaded when a session is wanted says so, and is asked again', async () => {
    let isBusy = true;
    const on = (exchange: Exchange): Behaviour | undefined =>
      exchange.recorded.method === 'initialize' && isBusy ? answerStatus(429) : modernToo(exchange);
    backend.set({ tools: ['t'], on });
    await start();
    const session = await openSession(running.url);
    assert.match((await session.call('a_t', { x: 1 })).text, /"isError":true/);
    isBusy = false;
    assert.deepEqual(await callLegacy(), [inSession]);
  });

  test('is spoken to in one era alone where the configuration says so', async () => {
    await start('modern');
    assert.deepEqual(await callLegacy(), ['in 2026-07-28']);
    assert.equal(handshakes(), 0);
    running.reload(configFile({ a: backend.url }, { extensions: { perWorkload: { a: { era: 'legacy' } } } }));
    assert.equal(resultText(await callModern()), inSession);
  });
});
