import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { readCommand } from '../../runtime/process/flags.ts';
import { VERSION } from '../../runtime/version.ts';
import { type FixtureBackend, startBackend } from '../fixtures/backend.ts';
import { openSession } from '../fixtures/raw-client.ts';
import { configFile } from '../fixtures/runtime.ts';

const program = new URL('../../runtime/main.ts', import.meta.url).pathname;
const run = promisify(execFile);

const textOf = (backends: Record<string, string>, more: object = {}): string =>
  configFile(backends, more)[0]?.text ?? '';

/** What is said of `vmcp workflow`, and its words. */
const MISUSED = (
  [
    ['which? vmcp workflow graph, or vmcp workflow run', 'draw', 'w'],
    ['which? vmcp workflow run NAME -c FILE, or vmcp workflow run FILE', 'run'],
    ['which? vmcp workflow run NAME -c FILE, or vmcp workflow run FILE', 'run', 'w'],
    ['--output is for other commands', 'run', 'w', '-c', 'f', '-o', 'json'],
    ['--params is for other commands', 'graph', 'w', '-c', 'f', '--params', '{}'],
    ['give -c FILE or --url URL, not both', 'run', 'w', '-c', 'f', '--url', 'http://h'],
    ['--url is no URL: h', 'run', 'w', '--url', 'h'],
    ['a server is asked for a workflow by its name, not by a file: w.yml', 'run', 'w.yml', '--url', 'http://h'],
    ['--dry-run reads a file: give -c FILE instead of --url', 'run', 'w', '--url', 'http://h', '--dry-run'],
    ['--answer is for a run; a dry run asks nobody', 'run', 'w', '-c', 'f', '--dry-run', '--answer', 'a={}'],
    ['--token is for a run; a dry run calls nothing', 'run', 'w', '-c', 'f', '--dry-run', '--token', 'x'],
    ['give --token or --token-file, not both', 'run', 'w', '-c', 'f', '--token', 'x', '--token-file', 'f'],
  ] as const
).map(([problem, ...words]): readonly [string, string[], Record<string, string>, object] => [
  `that workflow ${words.join(' ')} is none`,
  ['workflow', ...words],
  {},
  { kind: 'usage', problem },
]);

describe('the command line', () => {
  const rows: readonly (readonly [string, string[], Record<string, string>, object])[] = [
    ['the defaults', ['serve', '-c', 'f'], {}, { kind: 'serve', config: 'f', port: 4483, managementPort: 4484 }],
    [
      'flags',
      ['serve', '-c', 'f', '--host', '::', '--port', '1', '--management-port', '2'],
      {},
      { kind: 'serve', config: 'f', host: '::', port: 1, managementPort: 2 },
    ],
    [
      'variables',
      ['serve'],
      { VMCP_CONFIG: 'f', VMCP_HOST: '0.0.0.0', VMCP_PORT: '1', VMCP_MANAGEMENT_PORT: '2' },
      { kind: 'serve', config: 'f', host: '0.0.0.0', port: 1, managementPort: 2 },
    ],
    [
      'a flag over its variable',
      ['serve', '-c', 'f', '--port', '7'],
      { VMCP_PORT: '1' },
      { kind: 'serve', config: 'f', port: 7, managementPort: 4484 },
    ],
    [
      'a pod, which listens on all addresses',
      ['serve', '-c', 'f'],
      { KUBERNETES_SERVICE_HOST: '10.0.0.1' },
      { kind: 'serve', config: 'f', host: '::', port: 4483, managementPort: 4484 },
    ],
    [
      'what Kubernetes says about a Service of the same name',
      ['serve', '-c', 'f'],
      { VMCP_PORT: 'tcp://10.0.0.1:80' },
      { kind: 'serve', config: 'f', port: 4483, managementPort: 4484 },
    ],
    ['validate', ['validate', '-c', 'f'], {}, { kind: 'validate', config: 'f' }],
    ['version', ['version'], {}, { kind: 'version' }],
    [
      'a drawing',
      ['workflow', 'graph', 'w', '-c', 'f', '-o', 'svg'],
      {},
      { kind: 'draw-workflow', config: 'f', name: 'w', form: 'svg' },
    ],
    [
      'a drawing of nothing',
      ['workflow', 'graph', '-c', 'f'],
      {},
      { kind: 'usage', problem: 'which? vmcp workflow graph NAME -c FILE' },
    ],
    [
      'a drawing in another form',
      ['workflow', 'graph', 'w', '-c', 'f', '-o', 'png'],
      {},
      { kind: 'usage', problem: 'unknown form of output: png; it is mermaid or svg' },
    ],
    [
      'a drawing with flags of other commands',
      ['workflow', 'graph', 'w', '-c', 'f', '--token', 'x'],
      {},
      { kind: 'usage', problem: '--token is for other commands' },
    ],
    [
      'a run of a workflow of a configuration',
      ['workflow', 'run', 'w', '-c', 'f', '--params', '{}', '--answer', 'a={}', '--answer', 'b=decline'],
      { VMCP_TOKEN: 'x' },
      {
        kind: 'run-workflow',
        target: { kind: 'named', config: 'f', name: 'w' },
        params: { text: '{}' },
        answers: ['a={}', 'b=decline'],
        token: { text: 'x' },
        isDryRun: false,
      },
    ],
    [
      'a dry run of a workflow of a file',
      ['workflow', 'run', 'd/w.yaml', '--params', '@p.json', '--dry-run'],
      { VMCP_CONFIG: 'f', VMCP_TOKEN: 'x' },
      {
        kind: 'run-workflow',
        target: { kind: 'file', file: 'd/w.yaml', config: 'f' },
        params: { file: 'p.json' },
        answers: [],
        token: undefined,
        isDryRun: true,
      },
    ],
    [
      'a run at a server',
      ['workflow', 'run', 'w', '--url', 'http://h/mcp', '--token-file', 't'],
      { VMCP_CONFIG: 'f' },
      {
        kind: 'run-workflow',
        target: { kind: 'server', url: 'http://h/mcp', name: 'w' },
        params: undefined,
        answers: [],
        token: { file: 't' },
        isDryRun: false,
      },
    ],
    ...MISUSED,
    [
      'a flag of a run elsewhere',
      ['serve', '-c', 'f', '--dry-run'],
      {},
      { kind: 'usage', problem: '--dry-run is for workflow run' },
    ],
    [
      'explain',
      ['explain', '--tool', 't', '--args', '{}', '-o', 'json'],
      { VMCP_TOKEN: 'x' },
      {
        kind: 'explain',
        asked: { kind: 'tool', name: 't' },
        token: { text: 'x' },
        args: { text: '{}' },
        managementUrl: 'http://127.0.0.1:4484',
        managementToken: undefined,
        output: 'json',
      },
    ],
    [
      'explain with files',
      [
        'explain',
        '--resource',
        'u',
        '--token-file',
        'f',
        '--management-token-file',
        'g',
        '--management-url',
        'http://h:1',
      ],
      { VMCP_TOKEN: 'x', VMCP_MANAGEMENT_TOKEN: '' },
      {
        kind: 'explain',
        asked: { kind: 'resource', name: 'u' },
        token: { file: 'f' },
        args: undefined,
        managementUrl: 'http://h:1',
        managementToken: { file: 'g' },
        output: 'text',
      },
    ],
    [
      'explain without a name',
      ['explain'],
      {},
      { kind: 'usage', problem: 'what is to be explained? give one of --tool, --prompt, --resource' },
    ],
    [
      'a flag of explain elsewhere',
      ['serve', '-c', 'f', '--token', 'x'],
      {},
      { kind: 'usage', problem: '--token is for explain' },
    ],
    ['no command', [], {}, { kind: 'usage' }],
    ['another command', ['fly'], {}, { kind: 'usage', problem: 'unknown command: fly' }],
    [
      'a port that is none',
      ['serve', '-c', 'f', '--port', '70000'],
      {},
      { kind: 'usage', problem: '--port is not a port: 70000' },
    ],
    [
      'a variable that is no port',
      ['serve', '-c', 'f'],
      { VMCP_PORT: 'http' },
      { kind: 'usage', problem: 'VMCP_PORT is not a port: http' },
    ],
    [
      'another variable that is no port, beside a flag that is one',
      ['serve', '-c', 'f', '--port', '1'],
      { VMCP_PORT: 'http', VMCP_MANAGEMENT_PORT: '-1' },
      { kind: 'usage', problem: 'VMCP_MANAGEMENT_PORT is not a port: -1' },
    ],
    ['no configuration', ['serve'], {}, { kind: 'usage', problem: 'which configuration? give -c FILE' }],
  ];
  for (const [what, args, environment, expected] of rows) {
    test(`understands ${what}`, () => assert.deepEqual(readCommand(args, environment), expected));
  }
});

describe('vmcp serve', () => {
  let directory: string;
  let a: FixtureBackend;
  let b: FixtureBackend;
  const children: ChildProcess[] = [];
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'vmcp-main-'));
    [a, b] = await Promise.all([startBackend(), startBackend()]);
  });
  after(async () => {
    for (const child of children) child.kill('SIGKILL');
    await Promise.all([a.close(), b.close()]);
    await rm(directory, { recursive: true });
  });

  /** Starts the program and gives its log lines by message. */
  const serve = (path: string) => {
    const child = spawn(process.execPath, [program, 'serve', '-c', path, '--port', '0', '--management-port', '0'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    children.push(child);
    const lines: Record<string, unknown>[] = [];
    const waiting = new Set<() => void>();
    createInterface(child.stdout).on('line', (line) => {
      lines.push(JSON.parse(line) as Record<string, unknown>);
      for (const look of waiting) look();
    });
    const logged = (message: string): Promise<Record<string, unknown>> =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = lines.findIndex(({ msg }) => msg === message);
          if (found < 0) return;
          waiting.delete(look);
          resolve(lines.splice(found, 1)[0] ?? {});
        };
        waiting.add(look);
        look();
      });
    return { child, logged };
  };

  test('follows edits of the file and keeps the old one when the new one is wrong', async () => {
    const path = join(directory, 'config.yaml');
    await writeFile(path, textOf({ a: a.url }));
    const { logged } = serve(path);
    const { url } = await logged('serving');
    const session = await openSession(String(url));
    assert.deepEqual(await session.toolNames(), ['a_echo']);
    await writeFile(path, textOf({ a: a.url, b: b.url }));
    await logged('configuration reloaded');
    assert.deepEqual(await session.toolNames(), ['a_echo', 'b_echo']);
    await writeFile(path, 'backends: 7');
    const { problems } = await logged('new configuration refused, the old one goes on');
    assert.match(String(problems), /backends/);
    assert.deepEqual(await session.toolNames(), ['a_echo', 'b_echo']);
  });

  test('follows a mounted ConfigMap, whose ..data link is swapped', async () => {
    const mount = join(directory, 'mount');
    const version = async (name: string, backends: Record<string, string>): Promise<void> => {
      await mkdir(join(mount, name), { recursive: true });
      await writeFile(join(mount, name, 'config.yaml'), textOf(backends));
      await symlink(name, join(mount, '..data_tmp'));
      await rename(join(mount, '..data_tmp'), join(mount, '..data'));
    };
    await version('..1', { a: a.url });
    await symlink('..data/config.yaml', join(mount, 'config.yaml'));
    const { logged } = serve(join(mount, 'config.yaml'));
    const session = await openSession(String((await logged('serving'))['url']));
    await version('..2', { b: b.url });
    await logged('configuration reloaded');
    assert.deepEqual(await session.toolNames(), ['b_echo']);
  });

  test('exits with 0 on SIGTERM after it has served for 5 s more', { timeout: 20_000 }, async () => {
    const path = join(directory, 'stop.yaml');
    await writeFile(path, textOf({ a: a.url }));
    const { child, logged } = serve(path);
    const { managementUrl } = await logged('serving');
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await logged('stopping');
    assert.equal((await fetch(`${String(managementUrl)}/readyz`)).status, 503);
    assert.deepEqual(await exited, [0, null]);
  });

  test('ends at once on a second signal, of whichever kind', async () => {
    const path = join(directory, 'stop.yaml');
    await writeFile(path, textOf({ a: a.url }));
    const { child, logged } = serve(path);
    await logged('serving');
    const exited = once(child, 'exit');
    child.kill('SIGINT');
    await logged('stopping');
    child.kill('SIGTERM');
    assert.deepEqual(await exited, [null, 'SIGTERM']);
  });

  test('says every problem of a wrong file and exits with 1', async () => {
    const path = join(directory, 'wrong.yaml');
    await writeFile(
      path,
      'incomingAuth: {type: anonymous}\nbackends: [{name: a, url: nowhere, transport: streamable-http}]\nfoo: 1\n',
    );
    for (const command of ['serve', 'validate']) {
      const failure = await run(process.execPath, [program, command, '-c', path]).catch(
        (error: unknown) => error as { code: number; stderr: string; stdout: string },
      );
      assert.ok('code' in failure && failure.code === 1);
      const output = failure.stdout + failure.stderr;
      assert.match(output, /wrong\.yaml:2.*url/);
      assert.match(output, /foo/);
    }
  });

  test('vmcp workflow run: the result alone is on the standard output', async () => {
    const path = join(directory, 'workflow.yaml');
    const step = { id: 'say', tool: 'a.echo', arguments: { of: '{{.params.of}}' } };
    const more = { compositeTools: [{ name: 'w', steps: [step] }], audit: { enabled: true } };
    await writeFile(path, textOf({ a: a.url }, more));
    const ran = run(process.execPath, [program, 'workflow', 'run', path, '--params', '{"of":"x"}']);
    const { stdout, stderr } = await ran;
    assert.equal(stdout, '{"content":[{"type":"text","text":"echo {\\"of\\":\\"x\\"}"}]}\n');
    assert.equal(stderr, '[1/1] step "say" completed\n');
    const failure = await run(process.execPath, [program, 'workflow', 'run', 'v', '-c', path]).catch(
      (error: unknown) => error as { code: number; stderr: string; stdout: string },
    );
    assert.ok('code' in failure && failure.code === 2 && failure.stdout === '');
    assert.equal(failure.stderr, `${path}: no composite tool "v": there are w\n`);
  });

  test('vmcp version', async () => {
    assert.equal((await run(process.execPath, [program, 'version'])).stdout, `${VERSION}\n`);
  });
});
