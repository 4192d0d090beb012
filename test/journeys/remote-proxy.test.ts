import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../operator/object.ts';
import { run } from '../cluster/command.ts';
import { until } from '../cluster/index.ts';
import { freePortPair } from '../fixtures/ports.ts';
import { openSession } from '../fixtures/raw-client.ts';

const root = join(import.meta.dirname, '..', '..');
const everything = 'node_modules/@modelcontextprotocol/server-everything/dist/index.js';
const SERVICE = 'http://mcpremoteproxy-search.default.svc.cluster.local:8080/mcp';

const children: ChildProcess[] = [];
let directory = '';
let remote = '';

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'vmcp-remote-proxy-'));
  const port = await freePortPair();
  remote = `http://127.0.0.1:${port}/mcp`;
  started([everything, 'streamableHttp'], { PORT: String(port) });
  await until('the remote server', async () => ((await fetch(remote).catch(() => undefined)) ? true : undefined));
});
after(async () => {
  for (const child of children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)) {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  await rm(directory, { recursive: true, force: true });
});

const started = (args: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess => {
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  children.push(child);
  return child;
};

/** The files that the pods of this Deployment would mount. */
const filesOf = (objects: readonly KubeObject[], child: string): Readonly<Record<string, string>> => {
  const found = objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.startsWith(`${child}-`));
  return (found?.['data'] ?? {}) as Readonly<Record<string, string>>;
};

/** Serves them from a process of its own; answers its URL. */
const serve = async (name: string, files: Readonly<Record<string, string>>): Promise<string> => {
  const mount = join(directory, name);
  await mkdir(mount);
  for (const [file, text] of Object.entries(files)) {
    if (file.endsWith('.yaml')) await writeFile(join(mount, file), text);
  }
  const ports = ['--port', '0', '--management-port', '0'];
  const child = started(['runtime/main.ts', 'serve', '-c', join(mount, 'config.yaml'), ...ports]);
  for await (const line of createInterface(child.stdout ?? assert.fail('its log is read'))) {
    const { msg, url } = JSON.parse(line) as { readonly msg?: string; readonly url?: string };
    if (msg === 'serving') return String(url);
  }
  return assert.fail(`${name} ended before it served`);
};

test('what is rendered for a proxy and for a server over its group is served: the tools of a real server, through both', async () => {
  const manifests = join(directory, 'manifests');
  await mkdir(manifests);
  await writeFile(
    join(manifests, 'all.yaml'),
    `apiVersion: vmcp.dev/v1beta1
kind: MCPRemoteProxy
metadata: { name: search, namespace: default }
spec: { remoteUrl: "${remote}", groupRef: { name: tools } }
---
apiVersion: vmcp.dev/v1beta1
kind: MCPGroup
metadata: { name: tools, namespace: default }
---
apiVersion: vmcp.dev/v1beta1
kind: VirtualMCPServer
metadata: { name: gateway, namespace: default }
spec: { groupRef: { name: tools }, incomingAuth: { type: anonymous } }
`,
  );
  const text = await run(process.execPath, ['operator/main.ts', 'render', manifests], { cwd: root });
  const objects = parseAllDocuments(text).map((document) => document.toJS() as KubeObject);

  const proxy = await serve('proxy', filesOf(objects, 'mcpremoteproxy-search'));
  const throughProxy = await openSession(proxy);
  const own = await throughProxy.toolNames();
  assert.ok(own.includes('echo'), own.join());
  assert.match((await throughProxy.call('echo', { message: 'hello' })).text, /Echo: hello/);

  const { 'backends.yaml': backends = '', ...files } = filesOf(objects, 'vmcp-gateway');
  assert.ok(backends.includes(SERVICE));
  const gateway = await serve('gateway', { ...files, 'backends.yaml': backends.replace(SERVICE, proxy) });
  const session = await openSession(gateway);
  assert.deepEqual((await session.toolNames()).toSorted(), own.map((name) => `search_${name}`).toSorted());
  assert.match((await session.call('search_echo', { message: 'hello again' })).text, /Echo: hello again/);
});
