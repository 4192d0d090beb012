import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { explanationText } from '../../../runtime/explain/explanation.ts';
import type { Running } from '../../../runtime/start.ts';
import { type FixtureBackend, startBackend } from '../../fixtures/backend.ts';
import { explanationSchema } from '../../../runtime/explain/explanation.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';

const program = new URL('../../../runtime/main.ts', import.meta.url).pathname;

interface Ran {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

const vmcp = (args: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<Ran> =>
  new Promise((resolve) => {
    const env = { ...process.env, ...environment };
    const child = execFile(process.execPath, [program, ...args], { env }, (_error, stdout, stderr) =>
      resolve({ exitCode: child.exitCode ?? -1, stdout, stderr }),
    );
  });

describe('vmcp explain', () => {
  let backend: FixtureBackend;
  let running: Running;
  let guarded: Running;
  let folder: string;
  let managementToken: string;

  before(async () => {
    backend = await startBackend({ tools: ['echo', 'secret'] });
    const more = { aggregation: { tools: [{ workload: 'a', filter: ['echo'] }] } };
    const { publicKey, privateKey } = await generateKeyPair('EdDSA');
    const management = { audience: 'uid-1', operatorKeys: [await exportJWK(publicKey)] };
    running = await startRuntime(configFile({ a: backend.url }, more));
    guarded = await startRuntime(configFile({ a: backend.url }, { ...more, management }));
    folder = await mkdtemp(join(tmpdir(), 'vmcp-explain-'));
    managementToken = await new SignJWT()
      .setProtectedHeader({ alg: 'EdDSA' })
      .setAudience('uid-1')
      .setExpirationTime('60s')
      .sign(privateKey);
  });
  after(() =>
    Promise.all([running.stop(), guarded.stop(), backend.close(), rm(folder, { recursive: true, force: true })]),
  );

  const explain = (args: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<Ran> =>
    vmcp(['explain', '--management-url', running.managementUrl, ...args], environment);

  test('prints a line for each step and ends with 0 where the call is allowed', async () => {
    const { exitCode, stdout } = await explain(['--tool', 'a_echo', '--args', '{"n":1}']);
    assert.equal(exitCode, 0);
    assert.match(stdout, /^✓ identity/m);
    assert.match(stdout, /^✓ filter {3}backend "a" offers it as "echo"$/m);
    assert.match(stdout, /allowed, listed\n$/);
  });

  test('says what to change and ends with 1 where it is refused', async () => {
    const { exitCode, stdout } = await explain(['--tool', 'a_secret']);
    assert.equal(exitCode, 1);
    assert.match(stdout, /^✗ filter {3}"secret" of backend "a" is hidden by filter\n +→ add it to the filter/m);
    assert.match(stdout, /refused, not listed\n$/);
  });

  test('prints the whole answer as JSON', async () => {
    const args = join(folder, 'args.json');
    await writeFile(args, '{"n":12345678901234567890}\n');
    const { exitCode, stdout } = await explain(['--tool', 'a_echo', '--args-file', args, '-o', 'json']);
    assert.equal(exitCode, 0);
    assert.equal(explanationSchema.parse(JSON.parse(stdout)).steps.length, 7);
  });

  test('asks a guarded server with a token of the operator', async () => {
    const question = ['--management-url', guarded.managementUrl, '--tool', 'a_echo'];
    const refused = await explain(question);
    assert.equal(refused.exitCode, 2);
    assert.match(refused.stderr, /asks for a token of the operator/);
    const file = join(folder, 'management-token');
    await writeFile(file, `${managementToken}\n`);
    assert.equal((await explain([...question, '--management-token-file', file])).exitCode, 0);
    assert.equal((await explain(question, { VMCP_MANAGEMENT_TOKEN: managementToken })).exitCode, 0);
  });

  test('ends with 2 where there is no explanation', async () => {
    const rows: readonly (readonly [readonly string[], RegExp])[] = [
      [['--tool', 'a_echo', '--args', '{'], /--args is not JSON/],
      [['--tool', 'a_echo', '--args', '[]'], /HTTP 400 "arguments" is not an object/],
      [['--tool', 'a_echo', '--token-file', join(folder, 'none')], /ENOENT/],
      [['--tool', 'a_echo', '--management-url', 'http://127.0.0.1:1'], /no answer of a server/],
      [[], /what is to be explained/],
    ];
    for (const [args, problem] of rows) {
      const { exitCode, stderr, stdout } = await explain(args);
      assert.deepEqual([exitCode, stdout], [2, ''], args.join(' '));
      assert.match(stderr, problem);
    }
  });

  test('lets no name move the cursor of a terminal', () => {
    const steps = [{ step: 'identity', outcome: 'ok', reason: 'the caller is "\u001B[2J\u202E"' }] as const;
    const text = explanationText({ allowed: true, listed: true, steps: [...steps] });
    for (const control of ['\u001B', '\u202E']) assert.equal(text.includes(control), false);
  });
});
