import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { until } from '../cluster/index.ts';
import { startCollector } from '../fixtures/otlp-collector.ts';
import { INITIALIZE, post } from '../fixtures/raw-client.ts';
import { configFile } from '../fixtures/runtime.ts';
import { REPOSITORY, bundleOf, writeProgram } from './bundle.ts';

/** What it is made of. */
async function inputsOf(entry: string): Promise<string[]> {
  return Object.keys((await bundleOf(entry)).metafile.inputs);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

describe('the program of an image', () => {
  test('the runtime’s holds no Kubernetes client and nothing of the operator', async () => {
    const inputs = await inputsOf('runtime/main.ts');
    assert.ok(inputs.includes('runtime/pipeline.ts'));
    assert.deepEqual(
      inputs.filter((path) => /^(crds|operator|test)\/|node_modules\/@kubernetes\//.test(path)),
      [],
    );
  });

  test('no module of the runtime’s is called through a wrapper that runs it when it is first needed', async () => {
    const { outputFiles, metafile } = await bundleOf('runtime/main.ts');
    assert.ok(
      Object.values(metafile.outputs).some(({ imports }) => imports.some(({ kind }) => kind === 'dynamic-import')),
    );
    for (const { path, text } of outputFiles) assert.ok(!/"runtime\/[^"]+\.ts"\(\) \{/.test(text), path);
  });

  test('the runtime’s exports telemetry, with packages that it brings along', async () => {
    const collector = await startCollector();
    const folder = await mkdtemp(join(tmpdir(), 'vmcp-bundle-'));
    const program = await writeProgram('runtime/main.ts', folder);
    const endpoint = { endpoint: collector.address, insecure: true, tracingEnabled: true, samplingRate: '1.0' };
    await writeFile(join(folder, 'config.yaml'), configFile({}, { telemetry: endpoint })[0]?.text ?? '');
    const port = await freePort();
    const flags = ['serve', '-c', join(folder, 'config.yaml'), `--port=${port}`, '--management-port=0'];
    const runtime = spawn(process.execPath, [program, ...flags]);
    await until('a server', async () => (await fetch(`http://127.0.0.1:${port}/health`)).ok || undefined);
    await post(`http://127.0.0.1:${port}/mcp`, INITIALIZE);
    await until('its span', async () => collector.spans().some(({ name }) => name === 'initialize') || undefined);
    runtime.kill('SIGKILL');
    await once(runtime, 'exit');
    await collector.close();
    await rm(folder, { recursive: true });
  });

  test('the operator’s holds what it runs in local mode, and nothing of the tests', async () => {
    const inputs = await inputsOf('operator/main.ts');
    assert.ok(inputs.includes('runtime/pipeline.ts'));
    assert.deepEqual(
      inputs.filter((path) => path.startsWith('test/')),
      [],
    );
  });

  test('a bridge stands beside each server, and loads neither schemas of resources nor what reconciles them', async () => {
    const inputs = await inputsOf('operator/bridge.ts');
    assert.ok(inputs.includes('operator/bridge/multiplexer.ts'));
    assert.deepEqual(
      inputs.filter((path) => /^(crds|operator\/(engine|kinds|plan|read|resolve|write))\//.test(path)),
      [],
    );
  });

  test('only an operator in a cluster loads what it is measured with', async () => {
    assert.ok((await inputsOf('operator/run.ts')).includes('operator/observe/metrics.ts'));
    for (const entry of ['operator/render.ts', 'operator/local.ts', 'operator/bridge.ts']) {
      assert.deepEqual(
        (await inputsOf(entry)).filter((path) => path === 'operator/observe/metrics.ts' || path === 'operator/run.ts'),
        [],
      );
    }
    const folder = await mkdtemp(join(tmpdir(), 'vmcp-bundle-'));
    const program = await writeProgram('operator/main.ts', folder);
    const cluster = { cluster: { server: 'https://127.0.0.1:1' }, name: 'x' };
    const contexts = [{ context: { cluster: 'x', user: 'x' }, name: 'x' }];
    const kubeconfig = { 'current-context': 'x', clusters: [cluster], contexts, users: [{ name: 'x', user: {} }] };
    await writeFile(join(folder, 'kubeconfig'), JSON.stringify(kubeconfig));
    const port = await freePort();
    const flags = ['run', '--image=x', '--leader-elect=false', `--health-port=${port}`, '--log-level=error'];
    const operator = spawn(process.execPath, [program, ...flags, `--kubeconfig=${join(folder, 'kubeconfig')}`]);
    const text = await until('the metrics', async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text());
    assert.match(text, /^vmcp_operator_build_info\{version="[^"]+"\} 1$/m);
    assert.match(text, /^process_cpu_seconds_total /m);
    operator.kill('SIGTERM');
    await once(operator, 'exit');
    assert.equal(operator.exitCode, 0);
    await rm(folder, { recursive: true });
  });

  test('the runtime’s finds the engine of policies beside it, and loads it where there are policies', async (t) => {
    const dockerfile = await readFile(join(REPOSITORY, 'Dockerfile.vmcp'), 'utf8');
    const [, copied] = /^RUN (package=(?:.*\\\n)*.*)$/m.exec(dockerfile) ?? [];
    const folder = await mkdtemp(join(tmpdir(), 'vmcp-bundle-'));
    t.after(() => rm(folder, { recursive: true }));
    await symlink(join(REPOSITORY, 'node_modules'), join(folder, 'node_modules'));
    await promisify(execFile)('sh', ['-c', copied ?? 'false'], { cwd: folder });
    await rm(join(folder, 'node_modules'));
    const program = await writeProgram('runtime/main.ts', join(folder, 'dist'));
    const validated = async (policy: string): Promise<string> => {
      const file = join(folder, 'config.yaml');
      const authz = { type: 'cedar', policies: [policy] };
      await writeFile(file, JSON.stringify({ incomingAuth: { type: 'anonymous', authz } }));
      const child = spawn(process.execPath, [program, 'validate', '-c', file]);
      const output = await textOf(child.stdout);
      return output;
    };
    assert.match(await validated('permit(principal, action, resource);'), /: valid\n$/);
    assert.match(
      await validated('permit(principal action, resource);'),
      /authz\.policies\[0\]: line 1, column 18 of the/,
    );
  });

  for (const dockerfile of ['Dockerfile.vmcp', 'Dockerfile.operator'])
    test(`${dockerfile} puts CEL beside the program, which loads it where there are conditions`, async (t) => {
      const text = await readFile(join(REPOSITORY, dockerfile), 'utf8');
      const [, made] = /^RUN (node \S+ @bufbuild\/cel (?:.*\\\n)*.*)$/m.exec(text) ?? [];
      const folder = await mkdtemp(join(tmpdir(), 'vmcp-bundle-'));
      t.after(() => rm(folder, { recursive: true }));
      await symlink(join(REPOSITORY, 'node_modules'), join(folder, 'node_modules'));
      await promisify(execFile)('sh', ['-c', made ?? 'false'], { cwd: folder });
      await rm(join(folder, 'node_modules'));
      const program = await writeProgram('runtime/main.ts', join(folder, 'dist'));
      assert.doesNotMatch(await readFile(program, 'utf8'), /cel\.expr\.ParsedExpr/);
      const validated = async (matcher: string): Promise<string> => {
        const roleMappings = [{ roleArn: 'arn:aws:iam::123456789012:role/x', matcher }];
        const cloudSts = { region: 'eu-west-1', roleMappings };
        const outgoingAuth = { source: 'inline', default: { type: 'cloud_sts', cloudSts } };
        const file = join(folder, 'config.yaml');
        await writeFile(file, JSON.stringify({ incomingAuth: { type: 'anonymous' }, outgoingAuth }));
        return textOf(spawn(process.execPath, [program, 'validate', '-c', file]).stdout);
      };
      assert.match(await validated('"admins" in claims.groups'), /: valid\n$/);
      assert.match(await validated('"admins" in groups'), /there is no variable groups/);
    });

  for (const [dockerfile, entry, folders] of [
    ['Dockerfile.vmcp', 'runtime/main.ts', ['runtime']],
    ['Dockerfile.operator', 'operator/main.ts', ['runtime', 'crds', 'operator']],
  ] as const) {
    test(`${dockerfile} copies exactly the folders its program comes from`, async () => {
      const text = await readFile(join(REPOSITORY, dockerfile), 'utf8');
      assert.deepEqual(
        [...text.matchAll(/^COPY ([a-z]+) \1$/gm)].map(([, folder]) => folder),
        folders,
      );
      const ours = (await inputsOf(entry)).filter((path) => !path.startsWith('node_modules/') && path.includes('/'));
      assert.deepEqual(new Set(ours.map((path) => path.split('/')[0])), new Set<string>(folders));
    });
  }
});
