import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../../../runtime/start.ts';
import { answerJson, type FixtureBackend, startBackend } from '../../../fixtures/backend.ts';
import { type OtlpCollector, startCollector } from '../../../fixtures/otlp-collector.ts';
import type { DecodedSpan } from '../../../fixtures/otlp-messages.ts';
import { openSession, post, type RawSession } from '../../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../../fixtures/runtime.ts';
import { covers } from '../../../requirements.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const sampled = `00-${TRACE}-${PARENT}-01`;

describe('traces', () => {
  let backend: FixtureBackend;
  let collector: OtlpCollector;
  let running: Running;
  let session: RawSession;

  const begin = async (telemetry: object = {}, more: object = {}, environment: Record<string, string> = {}) => {
    const endpoint = { endpoint: collector.address, insecure: true, tracingEnabled: true, samplingRate: '1.0' };
    running = await startRuntime(
      configFile({ a: backend.url }, { telemetry: { ...endpoint, ...telemetry }, ...more }),
      {},
      { environment: (name) => environment[name] },
    );
    session = await openSession(running.url);
    await session.toolNames();
  };
  /** Spans of what has happened, once the runtime has stopped and so sent all of them. */
  const spans = async (): Promise<readonly DecodedSpan[]> => {
    await running.stop();
    return collector.spans();
  };
  const one = (all: readonly DecodedSpan[], name: string, kind: number): DecodedSpan => {
    const [found, ...others] = all.filter((span) => span.name === name && span.kind === kind);
    assert.ok(found && others.length === 0, `${name}: ${all.map((span) => `${span.kind} ${span.name}`).join(', ')}`);
    return found;
  };
  const SERVER = 2;
  const CLIENT = 3;

  before(async () => {
    backend = await startBackend({
      tools: ['t', 'fails'],
      on: ({ recorded: { method, params } }) =>
        method === 'tools/call' && params['name'] === 'fails' ? answerJson('{"content":[],"isError":true}') : undefined,
    });
  });
  beforeEach(async () => {
    await collector?.close();
    collector = await startCollector();
  });
  after(async () => {
    await collector.close();
    await backend.close();
  });

  covers('telemetry.config.valid-standalone', 'telemetry.tracing.enabled');
  covers('telemetry.sampling-rate.one', 'telemetry.endpoint', 'telemetry.insecure.http');
  test('every request of a client is a span, and the call to the backend one within it', async () => {
    await begin();
    await session.call('a_t');
    const all = await spans();
    assert.ok(collector.received.every(({ path }) => path === '/v1/traces'));
    assert.equal(collector.received[0]?.headers['content-type'], 'application/x-protobuf');
    const [server, client] = [one(all, 'tools/call a_t', SERVER), one(all, 'tools/call t', CLIENT)];
    assert.equal(client.traceId, server.traceId);
    assert.equal(client.parentSpanId, server.spanId);
    assert.equal(server.parentSpanId, '');
    assert.ok(server.start <= client.start && client.end <= server.end);
    assert.ok(Math.abs(Number(server.start / 1_000_000n) - Date.now()) < 60_000);
    assert.equal(server.status, 0);
    one(all, 'initialize', SERVER);
    one(all, 'notifications/initialized', SERVER);
    one(all, 'tools/list', SERVER);
  });

  test('a span tells what was asked for, and no secret', async () => {
    await begin({ useLegacyAttributes: false });
    await post(
      running.url,
      { jsonrpc: '2.0', id: 'q7', method: 'tools/call', params: { name: 'a_t', arguments: { hidden: 'secret' } } },
      {
        'mcp-session-id': session.id,
        'mcp-protocol-version': '2025-11-25',
        authorization: 'Bearer secret',
      },
    );
    const { attributes } = one(await spans(), 'tools/call a_t', SERVER);
    const { 'mcp.session.id': image, ...others } = attributes;
    assert.deepEqual(others, {
      'mcp.method.name': 'tools/call',
      'jsonrpc.request.id': 'q7',
      'gen_ai.tool.name': 'a_t',
      'gen_ai.operation.name': 'execute_tool',
      'mcp.protocol.version': '2025-11-25',
      'network.protocol.name': 'http',
      'network.transport': 'tcp',
      'http.request.method': 'POST',
      'url.path': '/mcp',
      'client.address': '127.0.0.1',
      'http.response.status_code': 200,
    });
    assert.match(String(image), /^[0-9a-f]{16}$/);
    const sent = collector.received.map(({ body }) => body.toString('latin1')).join('');
    assert.ok(!sent.includes('secret') && !sent.includes(session.id));
  });

  covers('telemetry.legacy-attributes.default-true', 'telemetry.legacy-attributes.true');
  test('legacy names are beside the new ones by default', async () => {
    await begin();
    await session.call('a_t');
    const all = await spans();
    const { attributes } = one(all, 'tools/call a_t', SERVER);
    for (const [legacy, value] of Object.entries({
      'mcp.method': 'tools/call',
      'mcp.tool.name': 'a_t',
      'mcp.resource.id': 'a_t',
      'mcp.server.name': 'test',
      'mcp.transport': 'streamable-http',
      'http.method': 'POST',
      'http.status_code': 200,
      'rpc.system': 'jsonrpc',
    }))
      assert.equal(attributes[legacy], value, legacy);
    assert.equal(attributes['mcp.method.name'], 'tools/call');
    assert.equal(attributes['gen_ai.tool.name'], 'a_t');
    const sent = one(all, 'tools/call t', CLIENT).attributes;
    assert.equal(sent['target.workload_name'], 'a');
    assert.equal(sent['tool_name'], 't');
    assert.equal(sent['vmcp.backend.name'], 'a');
  });

  covers('telemetry.legacy-attributes.false');
  test('without legacy names there are the new ones only', async () => {
    await begin({ useLegacyAttributes: false });
    await session.call('a_t');
    for (const { attributes } of await spans()) {
      const legacy = Object.keys(attributes).filter((name) =>
        /^(http\.(method|target|status_code|user_agent)|mcp\.(method|tool\.name|resource\.id|server\.name|transport|request\.id)|rpc\.(system|service)|target\..*|action|tool_name)$/.test(
          name,
        ),
      );
      assert.deepEqual(legacy, []);
      assert.ok('mcp.method.name' in attributes);
    }
  });

  test('a tool that fails is an error, and so is a refusal', async () => {
    await begin();
    await session.call('a_fails');
    await session.call('a_none');
    await post(running.url, '{');
    const all = await spans();
    for (const [span, error] of [
      [one(all, 'tools/call a_fails', SERVER), 'tool_error'],
      [one(all, 'tools/call fails', CLIENT), 'tool_error'],
      [one(all, 'tools/call a_none', SERVER), 'unknown_name'],
      [one(all, 'POST /mcp', SERVER), 'not_json'],
    ] as const) {
      assert.equal(span.attributes['error.type'], error);
      assert.equal(span.status, 2);
    }
  });

  test('the context of a message is the parent, and goes on to the backend in header and message', async () => {
    await begin();
    backend.requests.length = 0;
    const _meta = { traceparent: sampled, tracestate: 'vendor=1', progressToken: 'p', 'example.com/own': [1] };
    await session.request('tools/call', { name: 'a_t', arguments: { x: 1 }, _meta });
    const all = await spans();
    const [server, client] = [one(all, 'tools/call a_t', SERVER), one(all, 'tools/call t', CLIENT)];
    assert.deepEqual([server.traceId, server.parentSpanId, server.traceState], [TRACE, PARENT, 'vendor=1']);
    const sent = backend.requests.find(({ method }) => method === 'tools/call');
    const expected = `00-${TRACE}-${client.spanId}-01`;
    assert.equal(sent?.headers['traceparent'], expected);
    assert.equal(sent?.headers['tracestate'], 'vendor=1');
    assert.deepEqual(sent?.params, {
      name: 't',
      arguments: { x: 1 },
      _meta: { traceparent: expected, tracestate: 'vendor=1', progressToken: 'p', 'example.com/own': [1] },
    });
  });

  test('the context of the headers is the parent of a message that has none, and else linked', async () => {
    await begin();
    const other = 'b'.repeat(16);
    const call = (_meta?: object) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'a_t', _meta } });
    const headers = { traceparent: `00-${TRACE}-${other}-01`, baggage: 'user=alice' };
    backend.requests.length = 0;
    await session.send(call(), headers);
    await session.send({ ...call({ traceparent: sampled }), id: 2 }, headers);
    const all = (await spans()).filter(({ kind, name }) => kind === SERVER && name === 'tools/call a_t');
    assert.deepEqual(
      all.map(({ parentSpanId, links }) => [parentSpanId, links]),
      [
        [other, []],
        [PARENT, [{ traceId: TRACE, spanId: other }]],
      ],
    );
    assert.ok(backend.requests.every((each) => each.headers['baggage'] === undefined));
  });

  test('a call without _meta gets one for the backend, whatever its arguments are', async () => {
    await begin();
    backend.requests.length = 0;
    await session.call('a_t', { _meta: { traceparent: 'mine' }, name: 'x' });
    const all = await spans();
    const sent = backend.requests.find(({ method }) => method === 'tools/call');
    const { traceId, spanId } = one(all, 'tools/call t', CLIENT);
    assert.deepEqual(sent?.params, {
      _meta: { traceparent: `00-${traceId}-${spanId}-01` },
      name: 't',
      arguments: { _meta: { traceparent: 'mine' }, name: 'x' },
    });
  });

  test('a malformed context is none, and breaks nothing', async () => {
    await begin();
    for (const traceparent of [
      '',
      'x',
      `ff-${TRACE}-${PARENT}-01`,
      `00-${'0'.repeat(32)}-${PARENT}-01`,
      7,
      null,
      {},
      `${sampled}-more`,
    ]) {
      const { json } = await session.request('tools/call', {
        name: 'a_t',
        _meta: { traceparent, tracestate: '\u0000=' },
      });
      assert.ok((json as { result?: unknown }).result, JSON.stringify(traceparent));
    }
    const all = (await spans()).filter(({ name }) => name === 'tools/call a_t');
    assert.equal(all.length, 8);
    assert.ok(all.every(({ parentSpanId }) => parentSpanId === ''));
  });

  covers('telemetry.sampling-rate.zero');
  test('at a rate of 0 nothing is exported, and a backend is told that the trace is not sampled', async () => {
    await begin({ samplingRate: '0.0' });
    backend.requests.length = 0;
    await session.call('a_t');
    assert.deepEqual(await spans(), []);
    const sent = backend.requests.find(({ method }) => method === 'tools/call');
    assert.match(String(sent?.headers['traceparent']), /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
  });

  test('what the client began, it decides: its traces are exported at a rate of 0, or not at a rate of 1', async () => {
    await begin({ samplingRate: '0.0' });
    await session.request('tools/call', { name: 'a_t', _meta: { traceparent: sampled } });
    assert.deepEqual((await spans()).map(({ name }) => name).toSorted(), ['tools/call a_t', 'tools/call t']);
    await begin();
    await session.request('tools/call', { name: 'a_t', _meta: { traceparent: `00-${TRACE}-${PARENT}-00` } });
    assert.equal((await spans()).filter(({ name }) => name === 'tools/call a_t').length, 1);
  });

  covers('telemetry.tracing.default-false', 'telemetry.sampling-rate.only-with-tracing');
  test('without tracingEnabled nothing is traced, whatever the rate, and a backend gets no context', async () => {
    await begin({ tracingEnabled: undefined });
    backend.requests.length = 0;
    await session.call('a_t');
    assert.deepEqual(await spans(), []);
    const sent = backend.requests.find(({ method }) => method === 'tools/call');
    assert.equal(sent?.headers['traceparent'], undefined);
    assert.deepEqual(sent?.params, { name: 't', arguments: {} });
    assert.equal(collector.received.length, 0);
  });

  covers('telemetry.service-name.default', 'telemetry.service-version.default');
  test('a server reports under its own name and version', async () => {
    await begin({}, { name: 'demo', metadata: { team: 'blue' } });
    const { resource } = one(await spans(), 'initialize', SERVER);
    assert.equal(resource['service.name'], 'demo');
    assert.match(String(resource['service.version']), /^\d+\.\d+\.\d+/);
    assert.match(String(resource['service.instance.id']), /^\w{16,}$/);
    assert.equal(resource['telemetry.sdk.name'], 'opentelemetry');
    assert.equal(resource['team'], 'blue');
  });

  covers('telemetry.service-name.custom', 'telemetry.service-version.custom', 'telemetry.custom-attributes.traces');
  test('name, version and attributes are those that were asked for', async () => {
    await begin({ serviceName: 'mine', serviceVersion: '7', customAttributes: { 'deployment.environment': 'prod' } });
    const { resource } = one(await spans(), 'initialize', SERVER);
    assert.equal(resource['service.name'], 'mine');
    assert.equal(resource['service.version'], '7');
    assert.equal(resource['deployment.environment'], 'prod');
  });

  covers('telemetry.environment-variables', 'telemetry.environment-variables.only-listed');
  test('of the environment, spans have the variables that are listed, where they are set', async () => {
    await begin({ environmentVariables: ['REGION', 'UNSET'] }, {}, { REGION: 'eu', SECRET: 'no' });
    await session.call('a_t');
    for (const { attributes } of await spans()) {
      assert.equal(attributes['environment.REGION'], 'eu');
      assert.ok(!('environment.UNSET' in attributes) && !JSON.stringify(attributes).includes('no"'));
    }
  });
});
