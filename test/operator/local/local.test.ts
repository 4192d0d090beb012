import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { readFile, rename, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type FixtureBackend, startBackend } from '../../fixtures/backend.ts';
import { freePortPair } from '../../fixtures/ports.ts';
import { openSession } from '../../fixtures/raw-client.ts';
import { covers } from '../../requirements.ts';
import { entryManifest, manifests, startLocal } from './terminal.ts';

/** A raw MCP server with these tools, gone after the test. */
const backendWith = async (t: TestContext, tools: readonly string[]): Promise<FixtureBackend> => {
  const backend = await startBackend({ tools });
  t.after(() => backend.close());
  return backend;
};

const NOWHERE = 'http://somewhere.invalid/mcp';

covers('status.url');
test('the servers of a directory are served on loopback, with backends where they were mapped to', async (t) => {
  const everything = await backendWith(t, ['echo']);
  const files = { 'all.yaml': manifests({ everything: NOWHERE, weather: NOWHERE }) };
  const weather = await backendWith(t, ['forecast']);
  const mapping = ['--backend', `everything=${everything.url}`, '--backend', `weather=${weather.url}`];
  await using local = await startLocal(files, mapping);
  await local.sees(/demo {2}Ready {2}http:\/\/127\.0\.0\.1:\d+\/mcp {2}2 tools/);
  const status = await local.status();
  const session = await openSession(String(status['url']));
  assert.deepEqual(await session.toolNames(), ['everything_echo', 'weather_forecast']);
  assert.deepEqual([status['phase'], status['url'], status['backendCount']], ['Ready', local.url, 2]);
  assert.equal(await local.interrupt(), 0);
});

test('local.yaml maps backends too, a flag wins over it', async (t) => {
  const backend = await backendWith(t, ['echo']);
  await using local = await startLocal({ 'all.yaml': manifests({ a: NOWHERE, b: NOWHERE }) }, [
    '--backend',
    `a=${backend.url}`,
  ]);
  await local.sees(/a {2}ready/);
  const port = new URL(local.url).port;
  await local.write('local.yaml', `ports: { demo: ${port} }\nbackends: { a: ${NOWHERE}, b: ${backend.url} }\n`);
  await local.sees(/demo {2}Ready/);
});

test('a backend that is added to the directory appears in the session that is open', async (t) => {
  const first = await backendWith(t, ['one']);
  const second = await backendWith(t, ['two']);
  await using local = await startLocal({ 'all.yaml': manifests({ first: first.url }) });
  await local.sees(/demo {2}Ready/);
  const session = await openSession(local.url);
  assert.deepEqual(await session.toolNames(), ['first_one']);
  await local.write('more.yml', entryManifest('second', second.url));
  await local.sees(/second {2}ready/);
  assert.deepEqual(await session.toolNames(), ['first_one', 'second_two']);
  await local.remove('more.yml');
  await local.sees(/demo {2}Ready {2}\S+ {2}1 tools/);
  assert.deepEqual(await session.toolNames(), ['first_one']);
});

test('a broken manifest is reported with file and line, and what was served before goes on', async (t) => {
  const backend = await backendWith(t, ['one']);
  const good = manifests({ first: backend.url });
  await using local = await startLocal({ 'all.yaml': good });
  await local.sees(/demo {2}Ready/);
  const session = await openSession(local.url);
  await local.write('all.yaml', good.replace('type: anonymous', 'type: anonymus'));
  assert.match(await local.sees(/all\.yaml/), /^all\.yaml:6: spec\.incomingAuth\.type: .*"anonymous", "oidc"/m);
  assert.deepEqual(await session.toolNames(), ['first_one']);
  await local.write('all.yaml', good.replace('spec:', 'spec: ['));
  await local.sees(/^all\.yaml:\d+: not YAML: /m);
  await local.write('all.yaml', `${good}---\n${entryManifest('second', backend.url)}`);
  await local.sees(/second +ready/);
  assert.deepEqual(await session.toolNames(), ['first_one', 'second_one']);
});

test('a directory that is moved away ends it, and does not come back', async (t) => {
  await using local = await startLocal({ 'all.yaml': manifests({}) });
  await local.sees(/demo {2}Ready/);
  const elsewhere = `${local.directory}-moved`;
  t.after(() => rm(elsewhere, { recursive: true }));
  await rename(local.directory, elsewhere);
  assert.equal(await local.ended, 1);
  await local.sees(/ is gone or another one has taken its name; start again to serve it$/m);
  assert.equal(existsSync(local.directory), false);
});

test('the end of a problem is reported, and the end of a server', async () => {
  await using local = await startLocal({ 'all.yaml': manifests({}) });
  await local.sees(/demo {2}Ready/);
  await local.write('all.yaml', 'kind: [');
  await local.sees(/not YAML/);
  await local.write('all.yaml', manifests({}));
  await local.sees(/^problems solved$/m);
  await local.remove('all.yaml');
  assert.match(await local.sees(/No VirtualMCPServer in this directory/), /^demo stopped$/m);
});

test('a spec that asks for what does not exist yet leaves the last good one serving', async (t) => {
  const backend = await backendWith(t, ['one']);
  await using local = await startLocal({ 'all.yaml': manifests({ first: backend.url }) });
  await local.sees(/demo {2}Ready/);
  const spec = '  config: { outgoingAuth: { source: inline, default: { type: obo } } }\n';
  await local.write('all.yaml', manifests({ first: backend.url }, spec));
  await local.sees(
    /demo {2}Degraded .*the last good spec serves: spec\.config\.outgoingAuth\.default\.type: not supported/,
  );
  assert.deepEqual(await (await openSession(local.url)).toolNames(), ['first_one']);
  assert.equal((await local.status())['phase'], 'Degraded');
});

covers('status.backend-count.excludes-unavailable', 'status.discovered.message');
test('a backend that stops lowers the count of routable backends by one, and status says why', async (t) => {
  const stays = await backendWith(t, ['one']);
  const stops = await backendWith(t, ['two']);
  const oftenChecked =
    '  config: { operational: { failureHandling: { healthCheckInterval: 1s, healthCheckTimeout: 500ms, unhealthyThreshold: 2 } } }\n';
  await using local = await startLocal({
    'all.yaml': manifests({ stays: stays.url, stops: stops.url }, oftenChecked),
  });
  await local.sees(/demo {2}Ready/);
  assert.equal((await local.status())['backendCount'], 2);
  await stops.close();
  await local.sees(/stops +unavailable/);
  const { backendCount, discoveredBackends } = await local.status();
  assert.equal(backendCount, 1);
  const backends = discoveredBackends as readonly { name: string; message?: string }[];
  assert.notEqual(backends.find(({ name }) => name === 'stops')?.message ?? '', '');
});

covers('operator.config.static-backends-inline');
test('with source inline exactly the list of config.backends is served', async (t) => {
  const listed = await backendWith(t, ['one']);
  const spec = `  outgoingAuth: { source: inline }\n  config: { backends: [{ name: listed, url: "${listed.url}", transport: streamable-http }] }\n`;
  await using local = await startLocal({ 'all.yaml': manifests({ member: NOWHERE }, spec) });
  await local.sees(/demo {2}Ready/);
  assert.deepEqual(await (await openSession(local.url)).toolNames(), ['listed_one']);
});

test('kinds that need containers are named, unless they are mapped', async (t) => {
  const backend = await backendWith(t, ['one']);
  const server = (name: string): string =>
    `---\napiVersion: vmcp.dev/v1beta1\nkind: MCPServer\nmetadata: { name: ${name} }\nspec: { image: x, transport: streamable-http, groupRef: { name: tools } }\n`;
  const files = { 'all.yaml': manifests({}) + server('mapped') + server('unmapped') };
  await using local = await startLocal(files, ['--backend', `mapped=${backend.url}`]);
  await local.sees(/mapped +ready[^]*! NeedsCluster: MCPServer unmapped/);
  assert.deepEqual(await (await openSession(local.url)).toolNames(), ['mapped_one']);
});

test('a disk that takes no status ends nothing, and is reported once', async (t) => {
  const backend = await backendWith(t, ['one']);
  await using local = await startLocal({ '.vmcp': 'a file\n', 'all.yaml': manifests({ first: backend.url }) });
  const told = await local.sees(/demo {2}Ready/);
  assert.equal(told.match(/\.vmcp cannot be written: .*; ports and status are not kept there/g)?.length, 1);
  assert.deepEqual(await (await openSession(local.url)).toolNames(), ['first_one']);
});

test('a backend that is withheld for its configuration fails lists, unless the rest is asked for', async (t) => {
  const backend = await backendWith(t, ['one']);
  const secure = `${entryManifest('secure', NOWHERE)}  externalAuthConfigRef: { name: login }\n`;
  const withSpec = (spec: string): string => `${manifests({ first: backend.url }, spec)}---\n${secure}`;
  await using local = await startLocal({ 'all.yaml': withSpec('') });
  await local.sees(/demo {2}Degraded/);
  const session = await openSession(local.url);
  const { error } = (await session.request('tools/list')).json as { error?: { code: number; message: string } };
  assert.equal(error?.code, 503);
  assert.match(error?.message ?? '', /secure/);
  await local.write(
    'all.yaml',
    withSpec('  config: { operational: { failureHandling: { partialFailureMode: best_effort } } }\n'),
  );
  while (((await session.request('tools/list')).json as { error?: unknown }).error !== undefined);
  assert.deepEqual(await session.toolNames(), ['first_one']);
});

test('a flag that maps what is no backend is a typing error, in local.yaml it is pointed at', async () => {
  const files = { 'all.yaml': manifests({ alpha: NOWHERE }) };
  await using flag = await startLocal(files, ['--backend', `alhpa=${NOWHERE}`]);
  assert.equal(await flag.ended, 2);
  await flag.sees(/^--backend alhpa: no backend is called alhpa; there are alpha$/m);
  await using local = await startLocal({ ...files, 'local.yaml': `backends: { alhpa: "${NOWHERE}" }` });
  await local.sees(/^no backend is called alhpa; there are alpha$/m);
});

test('a port of what is no server is reported, and not kept', async () => {
  await using local = await startLocal({ 'all.yaml': manifests({}), 'local.yaml': 'ports: { dmeo: 4999 }' });
  await local.sees(/^local\.yaml: ports\.dmeo: no VirtualMCPServer is called that; there are demo$/m);
  assert.doesNotMatch(await readFile(join(local.directory, '.vmcp', 'ports.yaml'), 'utf8'), /dmeo/);
});

test('what is as it should be is not shown like a problem', async (t) => {
  const backend = await backendWith(t, ['one']);
  const spec = '  config: { aggregation: { tools: [{ workload: first, toolConfigRef: { name: shared } }] } }\n';
  const toolConfig =
    'apiVersion: vmcp.dev/v1beta1\nkind: MCPToolConfig\nmetadata: { name: shared }\nspec: { toolsFilter: [one] }\n';
  await using local = await startLocal({ 'all.yaml': `${manifests({ first: backend.url }, spec)}---\n${toolConfig}` });
  const told = await local.sees(/first +ready/);
  assert.doesNotMatch(told, /!/);
  const conditions = (await local.status())['conditions'] as readonly { type: string; status: string }[];
  assert.equal(conditions.find(({ type }) => type === 'ToolConfigResolved')?.status, 'True');
});

test('an entry whose group is misspelt is reported, and a mapping of it says which group it was', async (t) => {
  const backend = await backendWith(t, ['one']);
  const extra = entryManifest('extra', NOWHERE).replace('name: tools', 'name: toolz');
  const files = { 'all.yaml': `${manifests({ first: backend.url })}---\n${extra}` };
  await using local = await startLocal(files, ['--backend', `extra=${NOWHERE}`]);
  const told = await local.sees(/first +ready/);
  assert.match(told, /^extra is mapped, but its MCPGroup toolz does not exist$/m);
  assert.match(told, /^! MCPServerEntry extra {2}Pending: no MCPGroup toolz in this namespace; create it or change /m);
});

test('a port that is taken is reported, and the server starts once it is free', async (t) => {
  const squatter = createServer();
  t.after(() => squatter.close());
  const port = await freePortPair();
  await new Promise<void>((resolve) => squatter.listen(port, '127.0.0.1', resolve));
  await using local = await startLocal({ 'all.yaml': manifests({}), 'local.yaml': `ports: { demo: ${port} }\n` });
  await local.sees(/demo cannot be served: .*EADDRINUSE.*; stop what uses the port, or set ports in local\.yaml/);
  squatter.close();
  await local.sees(/demo {2}Ready/);
});

test('a server keeps its port over restarts, a new one gets the next pair', async () => {
  await using local = await startLocal({ 'all.yaml': manifests({}), 'local.yaml': '{}' });
  const [, port] = /127\.0\.0\.1:(\d+)/.exec(await local.sees(/demo {2}Ready/)) ?? [];
  await local.write('more.yaml', manifests({}).split('---')[0]?.replace('demo', 'another') ?? '');
  const [, other] = /another {2}\w+ {2}http:\/\/127\.0\.0\.1:(\d+)/.exec(await local.sees(/^another {2}Ready/m)) ?? [];
  assert.ok(Number(other) > Number(port), `${other} comes after ${port}`);
  assert.equal((Number(other) - Number(port)) % 10, 0);
  await local.interrupt();
  assert.equal(existsSync(join(local.directory, '.vmcp', 'ports.yaml')), true);
});

test('a port that local.yaml sets is not kept once local.yaml no longer sets it', async () => {
  await using local = await startLocal({ 'all.yaml': manifests({}) });
  await local.sees(/demo {2}Ready/);
  const kept = (): Promise<string> => readFile(join(local.directory, '.vmcp', 'ports.yaml'), 'utf8');
  assert.doesNotMatch(await kept(), /demo/);
  const forced = new URL(local.url).port;
  await local.remove('local.yaml');
  const [, port] = /127\.0\.0\.1:(\d+)/.exec(await local.sees(/demo {2}Ready/)) ?? [];
  assert.notEqual(port, forced);
  assert.match(await kept(), new RegExp(`^demo: ${port}$`, 'm'));
});

test('secrets of the directory lie in a private directory that goes with the process', async () => {
  const secret = '---\napiVersion: v1\nkind: Secret\nmetadata: { name: s }\nstringData: { token: hunter2 }\n';
  const before = new Set(privateDirectories());
  await using local = await startLocal({ 'all.yaml': manifests({}) + secret });
  await local.sees(/demo {2}Ready/);
  const [fresh = ''] = privateDirectories().filter((name) => !before.has(name) && existsSync(join(name, SECRET)));
  assert.equal(await local.fileMode(fresh), 0o700);
  assert.equal(await local.fileMode(join(fresh, SECRET, 'token')), 0o600);
  await local.interrupt();
  assert.equal(existsSync(fresh), false);
});

const SECRET = 'files/default/secrets/s';

const privateDirectories = (): readonly string[] =>
  readdirSync(tmpdir())
    .filter((name) => /^vmcp-[A-Za-z0-9]{6}$/.test(name))
    .map((name) => join(tmpdir(), name));

test('manifests that are wrong from the start end it with exit code 1', async () => {
  await using local = await startLocal({ 'all.yaml': 'kind: VirtualMCPServer\n' });
  assert.equal(await local.ended, 1);
  assert.match(await local.sees(/all\.yaml/), /all\.yaml:1: apiVersion: is required/);
});

test('--help prints the usage and succeeds', async () => {
  await using local = await startLocal({}, ['--help']);
  assert.equal(await local.ended, 0);
  await local.sees(/^usage: vmcp-operator local/);
});

test('a command line that is wrong ends it with exit code 2 and the usage', async () => {
  for (const args of [
    ['--backend', 'nonsense'],
    ['--no-such-flag'],
    ['second-directory'],
    ['--backend', 'a=ftp://x/'],
  ]) {
    await using local = await startLocal({}, args);
    assert.equal(await local.ended, 2);
    await local.sees(/usage: vmcp-operator local/);
  }
});
