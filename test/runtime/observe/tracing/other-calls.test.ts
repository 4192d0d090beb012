import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { VmcpError } from '../../../../runtime/errors.ts';
import type { StartDeps } from '../../../../runtime/start.ts';
import { answerError, answerJson, type BackendOptions, startBackend } from '../../../fixtures/backend.ts';
import { sendModern } from '../../../fixtures/modern-caller.ts';
import { startCollector } from '../../../fixtures/otlp-collector.ts';
import type { DecodedSpan } from '../../../fixtures/otlp-messages.ts';
import { openSession } from '../../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../../fixtures/runtime.ts';
import { bothOf } from '../../../fixtures/workflows.ts';

const INFO = '"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"backend","version":"1"}}';
const COMPLETE = '"resultType":"complete","ttlMs":0,"cacheScope":"public"';

/** A backend of 2026-07-28. */
const modern: NonNullable<BackendOptions['on']> = ({ recorded: { method } }) => {
  if (method === 'server/discover')
    return answerJson(`{${COMPLETE},"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},${INFO}}`);
  if (method === 'tools/list')
    return answerJson(`{${COMPLETE},"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`);
  return method === 'tools/call'
    ? answerJson(`{"resultType":"complete","content":[],${INFO}}`)
    : answerError('{"code":-32601,"message":"no"}');
};

const begin = async (t: TestContext, options: BackendOptions, features: StartDeps['features'] = () => ({})) => {
  const backend = await startBackend(options);
  t.after(() => backend.close());
  const collector = await startCollector();
  t.after(() => collector.close());
  const telemetry = { endpoint: collector.address, insecure: true, tracingEnabled: true, samplingRate: '1.0' };
  const running = await startRuntime(configFile({ a: backend.url }, { telemetry }), {}, { features });
  const spans = async (): Promise<readonly DecodedSpan[]> => {
    await running.stop();
    return collector.spans();
  };
  return { backend, running, spans };
};

const named = (all: readonly DecodedSpan[], name: string, kind: number): DecodedSpan =>
  all.find((span) => span.name === name && span.kind === kind) ??
  assert.fail(`no ${name} among ${all.map((span) => `${span.kind} ${span.name}`).join(', ')}`);

const [INTERNAL, SERVER, CLIENT] = [1, 2, 3] as const;

describe('the trace of', () => {
  test('a call of 2026-07-28 goes on to the backend, in header and message', async (t) => {
    const { backend, running, spans } = await begin(t, { on: modern });
    const { json } = await sendModern(running.url, { args: { x: 1 } });
    assert.ok((json as { result?: unknown }).result, JSON.stringify(json));
    const all = await spans();
    const [server, client] = [named(all, 'tools/call a_echo', SERVER), named(all, 'tools/call echo', CLIENT)];
    assert.equal(client.parentSpanId, server.spanId);
    assert.equal(server.attributes['mcp.protocol.version'], '2026-07-28');
    const sent = backend.requests.find(({ method }) => method === 'tools/call');
    const expected = `00-${client.traceId}-${client.spanId}-01`;
    assert.equal(sent?.headers['traceparent'], expected);
    const meta = sent?.params['_meta'] as Record<string, unknown>;
    assert.equal(meta['traceparent'], expected);
    assert.equal(meta['io.modelcontextprotocol/protocolVersion'], '2026-07-28');
  });

  test('a tool that calls others has a span for each of them, also for one that is refused', async (t) => {
    const gate = (name: string): void => {
      if (name === 'a_u') throw new VmcpError('forbidden', 'forbidden');
    };
    const { running, spans } = await begin(t, { tools: ['t', 'u'] }, () => ({
      gate: {
        authenticate: () => ({ kind: 'anonymous' }),
        authorize: ({ name }) => gate(name),
        limit: () => {},
      },
      ownTools: { workflow: bothOf('a_t', 'a_u') },
    }));
    const session = await openSession(running.url);
    await session.toolNames();
    await session.call('both');
    const all = await spans();
    const server = named(all, 'tools/call both', SERVER);
    const [first, second] = [named(all, 'tools/call a_t', INTERNAL), named(all, 'tools/call a_u', INTERNAL)];
    const client = named(all, 'tools/call t', CLIENT);
    assert.deepEqual([first.parentSpanId, second.parentSpanId], [server.spanId, server.spanId]);
    assert.equal(client.parentSpanId, first.spanId);
    assert.equal(first.attributes['vmcp.call.origin'], 'workflow');
    assert.deepEqual([first.status, second.status, second.attributes['error.type']], [0, 2, 'forbidden']);
    assert.ok([first, second, client].every(({ traceId }) => traceId === server.traceId));
  });
});
