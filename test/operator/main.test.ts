import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';

const program = new URL('../../operator/main.ts', import.meta.url).pathname;

let directory: string;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'vmcp-main-'));
});
after(() => rm(directory, { recursive: true }));

interface Ended {
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

const running = async (...args: readonly string[]): Promise<Ended> => {
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code, stdout, stderr };
};

test('help is no mistake: the usage goes to stdout, for the program and for run', async () => {
  for (const args of [['--help'], ['-h'], ['help'], ['run', '--help'], ['run', '-h']]) {
    const { code, stdout, stderr } = await running(...args);
    assert.deepEqual([code, stderr], [0, ''], args.join(' '));
    assert.match(stdout, /^usage: vmcp-operator run/);
  }
});

test('the version is printed as a command and as a flag', async () => {
  const [command, flag] = await Promise.all([running('version'), running('--version')]);
  assert.match(command.stdout, /^\S+\n$/);
  assert.deepEqual(flag, command);
});

test('a command that does not exist is named, also one that every object has', async () => {
  for (const name of ['serve', 'constructor']) {
    const { code, stdout, stderr } = await running(name);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, new RegExp(`^there is no command ${name}\n\nusage: `));
  }
});

test('a kubeconfig that cannot be read ends the start with one line that names it', async () => {
  const { code, stderr } = await running('run', '--image', 'x', '--kubeconfig', join(directory, 'none'));
  assert.equal(code, 1);
  assert.match(stderr, /^vmcp-operator run: the kubeconfig \S+\/none cannot be read: ENOENT[^\n]*\n$/);
});

test('a port that is taken ends the process: no operator goes on without one', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const kubeconfig = join(directory, 'kubeconfig');
  const context = { name: 'x', context: { cluster: 'x', user: 'x' } };
  const cluster = { name: 'x', cluster: { server: 'https://127.0.0.1:1' } };
  const users = [{ name: 'x', user: {} }];
  await writeFile(
    kubeconfig,
    JSON.stringify({ 'current-context': 'x', contexts: [context], clusters: [cluster], users }),
  );
  const port = String((server.address() as AddressInfo).port);
  const webhook = ['--health-port', '0', '--webhook-configuration', 'x', '--webhook-port'];
  for (const flags of [['--health-port'], webhook]) {
    const { code, stderr } = await running('run', '--image', 'x', '--kubeconfig', kubeconfig, ...flags, port);
    assert.equal(code, 1);
    assert.match(stderr, /^vmcp-operator run: listen EADDRINUSE[^\n]*\n$/);
  }
  server.close();
});
