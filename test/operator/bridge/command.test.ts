import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { bridgeOptions } from '../../../operator/bridge/index.ts';
import { until } from '../../cluster/until.ts';

const program = new URL('../../../operator/main.ts', import.meta.url).pathname;

describe('vmcp-operator bridge', () => {
  let folder: string;
  let kubeconfig: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vmcp-bridge-'));
    kubeconfig = join(folder, 'kubeconfig');
    const clusters = [{ name: 'x', cluster: { server: 'https://127.0.0.1:1' } }];
    const contexts = [{ name: 'x', context: { cluster: 'x', user: 'x', namespace: 'team' } }];
    const config = { 'current-context': 'x', clusters, contexts, users: [{ name: 'x', user: {} }] };
    await writeFile(kubeconfig, JSON.stringify(config));
  });
  after(() => rm(folder, { recursive: true }));

  const start = (...args: readonly string[]) => spawn(process.execPath, [program, 'bridge', ...args]);

  const ended = async (...args: readonly string[]) => {
    const child = start(...args);
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    return { code: code as unknown, stdout, stderr };
  };

  test('tells its options, and what is wrong with them', async () => {
    const [help, nobody, wrong] = await Promise.all([ended('--help'), ended(), ended('--pod', 'x', '--port', 'y')]);
    assert.equal(help.code, 0);
    assert.match(help.stdout, /^usage: vmcp-operator bridge --pod POD/);
    assert.equal(nobody.code, 2);
    assert.match(nobody.stderr, /^whose container\? give --pod or set VMCP_POD\n/);
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /^--port must be a whole number from 0 to 65535, not "y"\n/);
  });

  test('ends when its port is taken', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const port = String((server.address() as AddressInfo).port);
    const flags = ['--pod', 'x', '--kubeconfig', kubeconfig, '--host', '127.0.0.1', '--port', port];
    const { code, stderr } = await ended(...flags);
    server.close();
    assert.equal(code, 1);
    assert.match(stderr, /^vmcp-operator bridge: .*EADDRINUSE/);
  });

  test('lives while there is nothing to attach to, is not ready then, and stops when its signal comes', async () => {
    const child = start('--pod', 'x', '--kubeconfig', kubeconfig, '--host', '127.0.0.1', '--port', '0');
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    const url = await until('the address', () => Promise.resolve(/"url":"([^"]+)\/mcp"/.exec(output)?.[1]));
    const status = async (path: string): Promise<number> => (await fetch(`${url}${path}`)).status;
    assert.deepEqual([await status('/healthz'), await status('/readyz')], [200, 503]);
    await until('the reason', () => Promise.resolve(output.includes('ECONNREFUSED') || undefined));
    child.kill('SIGTERM');
    await once(child, 'exit');
    assert.equal(child.exitCode, 0);
  });

  test('reads each option from the environment, too, and a flag wins', () => {
    const env = { VMCP_POD: 'a-0', VMCP_CONTAINER: 'other', VMCP_ALLOWED_HOSTS: 'a, b', VMCP_PORT: '1' };
    assert.deepEqual(bridgeOptions(['--port', '2'], env), {
      pod: 'a-0',
      container: 'other',
      host: '::',
      port: 2,
      allowedHosts: ['a', 'b'],
      logLevel: 'info',
    });
  });
});
