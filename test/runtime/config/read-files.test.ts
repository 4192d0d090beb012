import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, suite, test } from 'node:test';
import { covers } from '../../requirements.ts';
import { checkConfigFiles, readConfigFiles } from '../../../runtime/config/index.ts';
import { MINIMAL, yaml } from './files.ts';
import { oidc } from './sections.ts';

suite('reading the files', () => {
  let directory = '';
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'vmcp-config-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  const write = (name: string, text: string | Uint8Array) => writeFile(join(directory, name), text);

  test('backends.yaml is read when it lies beside the file', async () => {
    await write('config.yaml', 'name: a\n');
    const alone = await readConfigFiles(join(directory, 'config.yaml'));
    await write('backends.yaml', 'backends: []\n');
    const both = await readConfigFiles(join(directory, 'config.yaml'));
    assert.deepEqual(alone, { ok: true, files: [{ name: join(directory, 'config.yaml'), text: 'name: a\n' }] });
    assert.ok(both.ok);
    assert.deepEqual(both.files[1], { name: join(directory, 'backends.yaml'), text: 'backends: []\n' });
  });

  test('both files come from the version that the link names, as in a mounted ConfigMap', async () => {
    for (const version of ['1', '2']) {
      await mkdir(join(directory, `..${version}`));
      await write(`..${version}/config.yaml`, `name: v${version}\n`);
    }
    await write('..1/backends.yaml', 'backends: []\n');
    await symlink('..2', join(directory, '..data'));
    await symlink('..data/config.yaml', join(directory, 'config.yaml'));
    // The kubelet has not yet removed the link of a file that the new version lacks.
    await symlink('..1/backends.yaml', join(directory, 'backends.yaml'));
    const read = await readConfigFiles(join(directory, 'config.yaml'));
    assert.deepEqual(read, { ok: true, files: [{ name: join(directory, 'config.yaml'), text: 'name: v2\n' }] });
  });

  test('a file that is absent, too large or not UTF-8 is a problem with a remedy', async () => {
    await write('large.yaml', `# ${'x'.repeat(4 * 1024 * 1024)}`);
    await write('latin.yaml', Uint8Array.of(0x6e, 0xe4));
    for (const [name, reason] of [
      ['absent.yaml', /ENOENT/],
      ['large.yaml', /larger than 4 MiB/],
      ['latin.yaml', /UTF-8|utf-8/],
    ] as const) {
      const read = await readConfigFiles(join(directory, name));
      assert.ok(!read.ok);
      assert.match(read.problems[0]?.reason ?? '', reason);
      assert.ok((read.problems[0]?.remedy ?? '').length > 0);
    }
  });

  test('validate says valid and 0, or every problem, their number and 1', async () => {
    const path = join(directory, 'config.yaml');
    await write('config.yaml', yaml(MINIMAL));
    assert.deepEqual(await checkConfigFiles(path), { exitCode: 0, output: `${path}: valid\n` });
    await write('config.yaml', 'nam: a\n');
    assert.deepEqual(await checkConfigFiles(path), {
      exitCode: 1,
      output: [
        `${path}:1:1: incomingAuth: is missing; add incomingAuth with type: oidc or local or anonymous`,
        `${path}:1:1: nam: unknown key; did you mean name?`,
        '2 problems',
        '',
      ].join('\n'),
    });
  });

  covers('health.timeout.below-interval');
  test('validate warns of a health check that may take longer than the time between two', async () => {
    const path = join(directory, 'config.yaml');
    const failureHandling = { healthCheckInterval: '10s', healthCheckTimeout: '10s' };
    await write('config.yaml', yaml({ ...MINIMAL, operational: { failureHandling } }));
    const { exitCode, output } = await checkConfigFiles(path);
    assert.equal(exitCode, 0);
    const [warning, verdict] = output.split('\n');
    assert.match(warning ?? '', /^warning: operational\.failureHandling\.healthCheckTimeout: not below/);
    assert.equal(verdict, `${path}: valid`);
    await write(
      'config.yaml',
      yaml({ ...MINIMAL, operational: { failureHandling: { healthCheckInterval: '10001ms' } } }),
    );
    assert.equal((await checkConfigFiles(path)).output, `${path}: valid\n`);
  });

  test('validate warns of settings of a store that nothing is kept in', async () => {
    const path = join(directory, 'config.yaml');
    const settings = { address: 'redis:6379', keyPrefix: 'x:' };
    await write('config.yaml', yaml({ ...MINIMAL, sessionStorage: { provider: 'memory', ...settings } }));
    const { exitCode, output } = await checkConfigFiles(path);
    assert.equal(exitCode, 0);
    const why = 'has no effect while sessions are kept in memory; set sessionStorage.provider to kvstore';
    assert.deepEqual(output.split('\n').slice(0, -2), [
      `warning: sessionStorage.address: ${why}`,
      `warning: sessionStorage.keyPrefix: ${why}`,
    ]);
    await write('config.yaml', yaml({ ...MINIMAL, sessionStorage: { provider: 'kvstore', ...settings } }));
    assert.equal((await checkConfigFiles(path)).output, `${path}: valid\n`);
  });

  test('validate warns of event types that do not exist', async () => {
    const path = join(directory, 'config.yaml');
    const audit = { enabled: true, eventTypes: ['mcp_toolcall'], excludeEventTypes: ['vmcp_workflow_started'] };
    await write('config.yaml', yaml({ ...MINIMAL, audit }));
    const { exitCode, output } = await checkConfigFiles(path);
    assert.equal(exitCode, 0);
    assert.deepEqual(output.split('\n').slice(0, -2), [
      'warning: audit.eventTypes[0]: no event has the type "mcp_toolcall", so this has no effect; did you mean mcp_tool_call?',
      'warning: audit.excludeEventTypes[0]: no event has the type "vmcp_workflow_started", so this has no effect; docs/audit.md lists them',
    ]);
    const all = { enabled: true, eventTypes: ['request_received', 'mcp_tool_call'] };
    await write('config.yaml', yaml({ ...MINIMAL, audit: all }));
    assert.equal((await checkConfigFiles(path)).output, `${path}: valid\n`);
  });

  const EXCHANGE = { type: 'token_exchange', tokenExchange: { tokenUrl: 'https://idp.example/token' } };
  const warningsFor = async (file: object): Promise<readonly string[]> => {
    const path = join(directory, 'config.yaml');
    await write('config.yaml', yaml({ ...MINIMAL, ...file }));
    const { exitCode, output } = await checkConfigFiles(path);
    assert.equal(exitCode, 0, output);
    return output.split('\n').slice(0, -2);
  };

  test('validate warns of credentials that are made from a user’s token where no user is known', async () => {
    const outgoingAuth = { source: 'inline', default: EXCHANGE };
    for (const type of ['anonymous', 'local'])
      assert.deepEqual(await warningsFor({ incomingAuth: { type }, outgoingAuth }), [
        `warning: outgoingAuth.default.type: every call fails, since token_exchange is made from a user's token and incomingAuth.type is ${type}; set incomingAuth.type to oidc`,
      ]);
    const cloudSts = { region: 'us-east-1', fallbackRoleArn: 'arn:aws:iam::123456789012:role/reader' };
    const [warning] = await warningsFor({
      backends: [{ name: 'a', url: 'http://a.example/mcp', transport: 'streamable-http' }],
      outgoingAuth: { source: 'inline', backends: { a: { type: 'cloud_sts', cloudSts } } },
    });
    assert.match(warning ?? '', /^warning: outgoingAuth\.backends\.a\.type: every call fails, since cloud_sts is made/);
    assert.deepEqual(await warningsFor({ ...oidc({}), outgoingAuth }), []);
    assert.deepEqual(
      await warningsFor({ incomingAuth: { type: 'anonymous', relaysCredentials: true }, outgoingAuth }),
      [],
    );
    const fixed = { type: 'header_injection', headerInjection: { headerName: 'X-Key', headerValue: 'a' } };
    assert.deepEqual(await warningsFor({ outgoingAuth: { source: 'inline', default: fixed } }), []);
  });

  test('validate warns of token endpoints that are never asked, for want of TLS', async () => {
    const at = (tokenUrl: string) => ({
      outgoingAuth: { source: 'inline', default: { type: 'token_exchange', tokenExchange: { tokenUrl } } },
    });
    const what = 'without TLS only loopback addresses are asked, so every call fails elsewhere; use https://';
    for (const url of ['http://idp.example/token', 'http://10.0.0.1/token', 'http://[fd00::1]/token'])
      assert.deepEqual(await warningsFor({ ...oidc({}), ...at(url) }), [
        `warning: outgoingAuth.default.tokenExchange.tokenUrl: ${what}`,
      ]);
    for (const url of [
      'https://idp.example/token',
      'http://127.0.0.1:80/token',
      'http://[::1]/t',
      'http://localhost/t',
    ])
      assert.deepEqual(await warningsFor({ ...oidc({}), ...at(url) }), []);
    assert.deepEqual(
      await warningsFor({ ...oidc({ insecureAllowHttp: true }), ...at('http://idp.example/token') }),
      [],
    );
  });

  test('validate warns of names that no backend has, in neither file', async () => {
    const path = join(directory, 'config.yaml');
    const backend = (name: string) => ({ name, url: `http://${name}.example/mcp`, transport: 'streamable-http' });
    const named = (name: string) => ({
      aggregation: {
        conflictResolution: 'priority',
        conflictResolutionConfig: { priorityOrder: [name] },
        tools: [{ workload: name, filter: ['x'] }],
      },
      operational: { timeouts: { perWorkload: { [name]: '1s' } } },
      outgoingAuth: { source: 'inline', backends: { [name]: { type: 'unauthenticated' } } },
    });
    await write('config.yaml', yaml({ ...MINIMAL, ...named('wikki'), backends: [backend('wiki')] }));
    const { exitCode, output } = await checkConfigFiles(path);
    assert.equal(exitCode, 0);
    const what = 'no backend is called "wikki", so this has no effect; did you mean wiki?';
    assert.deepEqual(output.split('\n').slice(0, -2), [
      `warning: aggregation.tools[0].workload: ${what}`,
      `warning: aggregation.conflictResolutionConfig.priorityOrder[0]: ${what}`,
      `warning: operational.timeouts.perWorkload.wikki: ${what}`,
      `warning: outgoingAuth.backends.wikki: ${what}`,
    ]);
    await write('config.yaml', yaml({ ...MINIMAL, ...named('found') }));
    assert.match((await checkConfigFiles(path)).output, /correct the name, or add the backend/);
    await write('backends.yaml', yaml({ formatVersion: 1, backends: [backend('found')] }));
    assert.equal((await checkConfigFiles(path)).output, `${path}: valid\n`);
  });
});
