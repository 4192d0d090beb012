import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { answerError, answerJson, startBackend } from '../fixtures/backend.ts';
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
  const home = await mkdtemp(join(tmpdir(), 'inspector-'));
  const program = programOf('@modelcontextprotocol/inspector/clients/launcher/build/index.js');
  const how = ['--cli', '--transport', 'http', '--server-url', running.url, '--protocol-era', 'modern', '--quiet'];
  const what = ['--method', 'tools/call', '--tool-name', 'a_job'];
  const env = { ...process.env, HOME: home };
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...how, ...what], { env });
  assert.match(stdout, /from the task/);
  const asked = await backend.received(({ method }) => method === 'tasks/get');
  assert.deepEqual([asked.params['taskId'], asked.headers['mcp-name']], ['1', '1']);
  await running.stop();
  await backend.close();
  await rm(home, { recursive: true });
});
