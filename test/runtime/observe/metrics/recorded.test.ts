import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { VmcpError } from '../../../../runtime/errors.ts';
import { openGate } from '../../../../runtime/gate/index.ts';
import type { Running } from '../../../../runtime/start.ts';
import { answerError, answerJson, type FixtureBackend, startBackend } from '../../../fixtures/backend.ts';
import { openSession, post, type RawSession } from '../../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../../fixtures/runtime.ts';

const TOOLS = ['fine', 'fails', 'refuses', 'forbidden'];

/** Of two tools something is decided. */
const gate = {
  ...openGate,
  authorize: ({ name }: { readonly name: string }, _target: unknown, record?: { decision: unknown }) => {
    if (name === 'a_fine' && record) record.decision = { isAllowed: true, policies: [], failed: [], dryRun: ['p'] };
    if (name !== 'a_forbidden') return;
    if (record) record.decision = { isAllowed: false, policies: ['p'], failed: [], dryRun: [] };
    throw new VmcpError('forbidden', 'forbidden');
  },
};

describe('what the runtime measures', () => {
  let backend: FixtureBackend;
  let running: Running;
  let session: RawSession;
  /** The series whose name begins so. */
  const series = async (name: string): Promise<string[]> => {
    const response = await fetch(`${running.managementUrl}/metrics`);
    assert.equal(response.status, 200);
    assert.match(response.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
    return (await response.text()).split('\n').filter((line) => line.startsWith(name));
  };

  before(async () => {
    backend = await startBackend({
      tools: TOOLS,
      on: ({ recorded: { method, params } }) => {
        if (method !== 'tools/call') return undefined;
        if (params['name'] === 'fails') return answerJson('{"content":[],"isError":true}');
        return params['name'] === 'refuses' ? answerError('{"code":-32602,"message":"wrong"}') : undefined;
      },
    });
    running = await startRuntime(configFile({ a: backend.url }), {}, { features: () => ({ gate }) });
    session = await openSession(running.url);
    await session.toolNames();
    for (const tool of TOOLS) await session.call(`a_${tool}`);
    await session.call('a_fine');
    await session.call('a_made_up');
    await session.request('made/up');
  });

  after(async () => {
    await running.stop();
    await backend.close();
  });

  test('every operation of a client, by method, tool and error', async () => {
    const counts = await series('mcp_server_operation_duration_seconds_count');
    const name = 'mcp_server_operation_duration_seconds_count';
    assert.deepEqual(counts.toSorted(), [
      `${name}{mcp_method_name="initialize"} 1`,
      `${name}{mcp_method_name="notifications/initialized"} 1`,
      `${name}{mcp_method_name="other",error_type="method_not_found"} 1`,
      `${name}{mcp_method_name="tools/call",error_type="unknown_name"} 1`,
      `${name}{mcp_method_name="tools/call",gen_ai_tool_name="a_fails",error_type="tool_error"} 1`,
      `${name}{mcp_method_name="tools/call",gen_ai_tool_name="a_fine"} 2`,
      `${name}{mcp_method_name="tools/call",gen_ai_tool_name="a_forbidden",error_type="forbidden"} 1`,
      `${name}{mcp_method_name="tools/call",gen_ai_tool_name="a_refuses",error_type="-32602"} 1`,
      `${name}{mcp_method_name="tools/list"} 1`,
    ]);
  });

  test('every call to a backend, by backend and error', async () => {
    const name = 'mcp_client_operation_duration_seconds_count';
    assert.deepEqual((await series(name)).toSorted(), [
      `${name}{mcp_method_name="tools/call",vmcp_backend_name="a",error_type="-32602"} 1`,
      `${name}{mcp_method_name="tools/call",vmcp_backend_name="a",error_type="tool_error"} 1`,
      `${name}{mcp_method_name="tools/call",vmcp_backend_name="a"} 2`,
    ]);
  });

  test('what policies decide, and what those on trial would', async () => {
    assert.deepEqual((await series('vmcp_policy_decisions_total')).toSorted(), [
      'vmcp_policy_decisions_total{vmcp_policy_decision="allow",vmcp_policy_dry_run="differs"} 2',
      'vmcp_policy_decisions_total{vmcp_policy_decision="deny"} 1',
    ]);
  });

  test('every refusal, those included that no method belongs to', async () => {
    await post(running.url, '{', {});
    await post(running.url, {}, { 'content-type': 'text/plain' });
    const refused = await series('vmcp_requests_refused_total');
    for (const code of ['forbidden', 'method_not_found', 'unknown_name', 'not_json', 'unsupported_media_type'])
      assert.ok(refused.includes(`vmcp_requests_refused_total{error_type="${code}"} 1`), refused.join('\n'));
  });

  test('the state of the process', async () => {
    const state = (await series('')).join('\n');
    assert.match(state, /^vmcp_build_info\{version="\d+\.\d+\.\d+"\} 1$/m);
    assert.match(state, /^vmcp_sessions 1$/m);
    assert.match(state, /^vmcp_requests_active 0$/m);
    assert.match(state, /^vmcp_tools 4$/m);
    assert.match(state, /^vmcp_backend_status\{vmcp_backend_name="a",vmcp_backend_status="ready"\} 1$/m);
    assert.match(state, /^vmcp_backend_failed_checks\{vmcp_backend_name="a"\} 0$/m);
    assert.match(state, /^vmcp_config_info\{vmcp_config_hash="[0-9a-f]{12}"\} 1$/m);
    assert.match(state, /^vmcp_config_refused 0$/m);
    assert.doesNotMatch(state, /^vmcp_session_store_status\b/m);
    assert.match(state, /^process_resident_memory_bytes \d{7,}$/m);
    assert.match(state, /^nodejs_eventloop_delay_seconds\{quantile="0.99"\} \d/m);
  });

  test('reloads, by whether they were applied', async () => {
    running.reload(configFile({ a: backend.url }, { operational: { logLevel: 'debug' } }));
    running.reload(configFile({ a: backend.url }, { made: 'up' }));
    assert.deepEqual(await series('vmcp_config_reloads_total'), [
      'vmcp_config_reloads_total{vmcp_config_outcome="applied"} 1',
      'vmcp_config_reloads_total{vmcp_config_outcome="refused"} 1',
    ]);
    assert.deepEqual(await series('vmcp_config_refused'), ['vmcp_config_refused 1']);
  });

  test('no address, no session and no argument', async () => {
    const all = (await series('')).join('\n');
    assert.ok(!all.includes(session.id));
    assert.doesNotMatch(all, /127\.0\.0\.1|made_up|localhost/);
  });
});
