import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import type { JsonValue } from '@modelcontextprotocol/ext-tasks/core';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createTaskSessionFromClient, resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client';
import { resultOf } from '../fixtures/answers.ts';
import { startAskingBackend } from '../fixtures/asking-backend.ts';
import { answerError, answerJson, startBackend } from '../fixtures/backend.ts';
import { frozenClock } from '../fixtures/frozen-clock.ts';
import { post } from '../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';
import { programOf } from './processes.ts';

const TASKS = 'io.modelcontextprotocol/tasks';
const KEPT = '"ttlMs":0,"cacheScope":"public"';
const TASK =
  '"taskId":"1","createdAt":"2026-11-01T00:00:00Z","lastUpdatedAt":"2026-11-01T00:00:00Z","ttlMs":60000,"pollIntervalMs":50';
const ANSWERS: Readonly<Record<string, string>> = {
  'server/discover': `{"resultType":"complete",${KEPT},"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"${TASKS}":{}}}}`,
  'tools/list': `{"resultType":"complete",${KEPT},"tools":[{"name":"job","inputSchema":{"type":"object"}}]}`,
  'tools/call': `{"resultType":"task",${TASK},"status":"working"}`,
  'tasks/get': `{"resultType":"complete",${TASK},"status":"completed","result":{"content":[{"type":"text","text":"from the task"}]}}`,
};

test('Inspector CLI waits for a task of the backend', async () => {
  const backend = await startBackend({
    on: ({ recorded: { method = '' } }) => {
      const result = ANSWERS[method];
      return result === undefined ? answerError('{"code":-32601,"message":"no"}') : answerJson(result);
    },
  });
  const running = await startRuntime(configFile({ a: backend.url }));
  assert.match(await inspected(running.url, 'a_job'), /from the task/);
  const asked = await backend.received(({ method }) => method === 'tasks/get');
  assert.deepEqual([asked.params['taskId'], asked.headers['mcp-name']], ['1', '1']);
  await running.stop();
  await backend.close();
});

/** What the Inspector CLI writes of a call. */
const inspected = async (url: string, tool: string): Promise<string> => {
  const home = await mkdtemp(join(tmpdir(), 'inspector-'));
  const program = programOf('@modelcontextprotocol/inspector/clients/launcher/build/index.js');
  const how = ['--cli', '--transport', 'http', '--server-url', url, '--protocol-era', 'modern', '--quiet'];
  const what = ['--method', 'tools/call', '--tool-name', tool];
  const env = { ...process.env, HOME: home };
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...how, ...what], { env });
  await rm(home, { recursive: true });
  return stdout;
};

const WORKFLOWS = [
  { name: 'slow', steps: [{ id: 'one', tool: 'b.echo' }] },
  {
    name: 'ask',
    steps: [
      { id: 'who', type: 'elicitation', message: 'Who?' },
      { id: 'sure', type: 'elicitation', message: 'Sure of {{.steps.who.output.action}}?', dependsOn: ['who'] },
      { id: 'last', tool: 'a.echo', dependsOn: ['sure'], arguments: { is: '{{.steps.sure.output.action}}' } },
    ],
  },
];

test('Inspector CLI waits for a workflow that has become a task', async () => {
  const [clock, b] = [frozenClock(), await startAskingBackend()];
  const running = await startRuntime(configFile({ b: b.url }, { compositeTools: [WORKFLOWS[0]] }), {}, { clock });
  const written = inspected(running.url, 'slow');
  const call = await b.next();
  clock.advance(10_000);
  setTimeout(() => call.finish('from the workflow'), 500);
  assert.match(await written, /from the workflow/);
  await Promise.all([running.stop(), b.close()]);
});

test('the client of the extension itself answers what a task asks, and gets the result', async () => {
  const a = await startBackend();
  const running = await startRuntime(configFile({ a: a.url }, { compositeTools: [WORKFLOWS[1]] }));
  const clientInfo = { name: 'tasks', version: '1' };
  const clientCapabilities = { elicitation: { form: {} }, extensions: { [TASKS]: {} } };
  const client = new Client(clientInfo, {
    capabilities: clientCapabilities,
    versionNegotiation: { mode: { pin: '2026-07-28' } },
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(running.url)));
  const seen: string[] = [];
  const asked: unknown[] = [];
  const session = createTaskSessionFromClient(client, {
    endpointId: 'gateway',
    v2RequestFraming: { protocolVersion: '2026-07-28', clientInfo, clientCapabilities },
    rawDispatch: async (request) => {
      const { method, params } = request as { method: string; params: Record<string, string> };
      seen.push(method);
      const message = { jsonrpc: '2.0', id: seen.length, ...(request as object) };
      const answer = await post(running.url, message, {
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        'mcp-name': params['taskId'] ?? params['name'] ?? '',
      });
      return { kind: 'result', result: resultOf(answer) as JsonValue };
    },
    onInputRequest: async (request) => {
      asked.push('params' in request && request.params?.['message']);
      return { action: 'accept', content: {} } as never;
    },
  });
  const { outcome } = await (await session.callTool('ask', {})).settle();
  assert.deepEqual(resultFromTaskOutcome(outcome).content, [{ type: 'text', text: 'echo {"is":"accept"}' }]);
  assert.deepEqual(asked, ['Who?', 'Sure of accept?']);
  assert.deepEqual([seen[0], seen.includes('tasks/update')], ['tools/call', true]);
  await session.close();
  await client.close();
  await Promise.all([running.stop(), a.close()]);
});
