import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { stringify } from 'yaml';
import { readConfigFiles } from '../../runtime/config/index.ts';
import { watchConfig } from '../../runtime/config/watch-config.ts';
import { systemClock } from '../../runtime/process/system-clock.ts';
import { until } from '../cluster/until.ts';
import { count, startBackend } from '../fixtures/backend.ts';
import { watchEnteredFiles } from '../fixtures/entered-files.ts';
import { openSession } from '../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';
import { startScriptedServer } from '../operator/api/scripted-server.ts';
import { made, madeServer } from '../operator/engine/cluster-user.ts';
import { serveCluster } from '../operator/engine/served-cluster.ts';

const page = readFileSync(new URL('../../docs/architecture.md', import.meta.url), 'utf8');

/** The files of the trip under this heading of `docs/architecture.md`. */
const tripOf = (heading: string): readonly string[] => {
  const [, section = ''] = page.split(`### ${heading}\n`);
  const [list = ''] = section.split(/^#/m);
  const files = [...list.matchAll(/^\d+\. `([^`]+)`/gm)].map(([, file = '']) => file);
  assert.ok(files.length > 0, `docs/architecture.md has no trip "${heading}"`);
  return files;
};

const notEntered = (heading: string, entered: ReadonlySet<string>): readonly string[] =>
  tripOf(heading).filter((file) => !entered.has(file));

const files = await watchEnteredFiles();
after(files.close);

test('a call enters each file of its trip, also when it is warm', async (t) => {
  const backend = await startBackend();
  t.after(() => backend.close());
  const running = await startRuntime(configFile({ a: backend.url }));
  t.after(() => running.stop());
  const session = await openSession(running.url);
  await session.call('a_echo');
  await files.take();
  await session.call('a_echo');
  assert.deepEqual(notEntered('A call: from the socket to the backend and back', await files.take()), []);
});

const server = await startScriptedServer();

test('a VirtualMCPServer enters each file of its trip until its Deployment is applied', async (t) => {
  const cluster = await serveCluster(server);
  t.after(cluster.stop);
  await cluster.add('mcpgroups', made('MCPGroup', 'tools', {}));
  await files.take();
  await cluster.add('virtualmcpservers', madeServer('one'));
  const { metadata } = await cluster.untilApplied('Deployment');
  assert.equal(metadata.name, 'vmcp-one');
  const heading = 'A VirtualMCPServer: from the watch event to the applied Deployment';
  assert.deepEqual(notEntered(heading, await files.take()), []);
});

test('an entry of backends.yaml enters each file of its trip until the backend is asked something', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'vmcp-trip-'));
  const path = join(directory, 'config.yaml');
  const write = (name: string, content: object): Promise<void> => writeFile(join(directory, name), stringify(content));
  await write('config.yaml', { name: 'test', incomingAuth: { type: 'anonymous' } });
  await write('backends.yaml', { backends: [] });
  const first = await readConfigFiles(path);
  assert.ok(first.ok);
  const running = await startRuntime(first.files);
  t.after(() => running.stop());
  const stopWatching = watchConfig(path, first.files, {
    clock: systemClock,
    read: readConfigFiles,
    onChange: (changed) => void running.reload(changed),
    onUnreadable: (reason) => assert.fail(reason),
    onFailure: (error) => assert.fail(String(error)),
  });
  t.after(async () => {
    stopWatching();
    await rm(directory, { recursive: true });
  });
  const backend = await startBackend();
  t.after(() => backend.close());
  await files.take();
  await write('backends.yaml', { backends: [{ name: 'a', url: backend.url, transport: 'streamable-http' }] });
  await until('the backend to be asked', () => Promise.resolve(count(backend, 'tools/list') > 0 || undefined));
  const heading = 'An entry of `backends.yaml`: from the file to a live connection';
  assert.deepEqual(notEntered(heading, await files.take()), []);
});
