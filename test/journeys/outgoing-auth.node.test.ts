import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type Node, skipWithoutNode, startNode, until } from '../cluster/index.ts';
import { type FixtureBackend, type Recorded, startBackend } from '../fixtures/backend.ts';
import { type Callers, callersIn, resource } from './callers.ts';
import { installChart } from './chart.ts';

/**
 * From the Secret to the header that a backend sees, in a real cluster: each strategy whose credential is the same for
 * all callers once, and the headers that are forwarded. The last tests change what the others need.
 */
const skip = await skipWithoutNode();
const PATIENT = { timeoutMs: 240_000, intervalMs: 200 } as const;

let node: Node;
let callers: Callers;
/** On the host, at an address that pods reach. */
let backend: FixtureBackend;
let client: Client;

const secret = (data: Readonly<Record<string, string>>): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'credentials' },
  stringData: data,
});
const FIRST = { key: 'first-key', token: 'first-token', tenant: 'first-tenant' };

const from = (key: keyof typeof FIRST) => ({ name: 'credentials', key });
/** Servers at the one backend on the host, told apart by the path that they are contacted at. */
const entry = (name: string, more: object): object =>
  resource('MCPServerEntry', name, {
    groupRef: { name: 'tools' },
    remoteUrl: `${backend.url}/${name}`,
    transport: 'streamable-http',
    ...more,
  });
const named = (name: string) => ({ externalAuthConfigRef: { name } });

const everything = (): readonly object[] => [
  secret(FIRST),
  resource('MCPGroup', 'tools', {}),
  resource('MCPExternalAuthConfig', 'key', {
    type: 'headerInjection',
    headerInjection: { headerName: 'X-Api-Key', valueSecretRef: from('key') },
  }),
  resource('MCPExternalAuthConfig', 'token', {
    type: 'bearerToken',
    bearerToken: { tokenSecretRef: from('token') },
  }),
  entry('open', {}),
  entry('injected', named('key')),
  entry('bearer', named('token')),
  entry('overridden', named('key')),
  entry('forwarded', {
    headerForward: {
      addPlaintextHeaders: { 'X-Team': 'tools' },
      addHeadersFromSecret: [{ headerName: 'X-Tenant', valueSecretRef: from('tenant') }],
    },
  }),
  resource('MCPRemoteProxy', 'proxied', {
    remoteUrl: `${backend.url}/proxied`,
    groupRef: { name: 'tools' },
    ...named('token'),
    headerForward: { addPlaintextHeaders: { 'X-Team': 'search' } },
  }),
  resource('VirtualMCPServer', 'gateway', {
    groupRef: { name: 'tools' },
    incomingAuth: { type: 'anonymous' },
    outgoingAuth: {
      backends: { overridden: { type: 'externalAuthConfigRef', externalAuthConfigRef: { name: 'token' } } },
    },
    config: {
      operational: {
        failureHandling: {
          healthCheckInterval: '2s',
          healthCheckTimeout: '1s',
          unhealthyThreshold: 1,
          statusReportingInterval: '2s',
        },
      },
    },
  }),
];

before(async () => {
  if (skip !== false) return;
  node = await startNode();
  callers = callersIn(node);
  backend = await startBackend({ address: node.hostAddress, tools: ['echo'], isStateless: true });
  await installChart(node);
  await callers.apply(...everything());
  await Promise.all(
    ['vmcp/gateway', 'mcpremoteproxy/proxied'].map((object) =>
      node.kubectl(['wait', object, '--for=jsonpath={.status.phase}=Ready', '--timeout=240s']),
    ),
  );
  client = new Client({ name: 'journey', version: '1.0.0' });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`http://${await addressOf('vmcp-gateway')}:4483/mcp`)),
  );
});

after(async () => {
  await client?.close();
  await node?.stop();
  await backend?.close();
});

const addressOf = async (service: string): Promise<string> =>
  (await node.kubectl(['get', 'service', service, '-o', 'jsonpath={.spec.clusterIP}'])).trim();

/** What the backend of that name sees of a call. */
const seenBy = async (name: string): Promise<Recorded['headers']> => {
  const before = backend.requests.length;
  const { isError } = await client.callTool({ name: `${name}_echo`, arguments: {} });
  assert.notEqual(isError, true, name);
  const [call] = backend.requests.slice(before).filter(({ method }) => method === 'tools/call');
  return call?.headers ?? assert.fail(`${name} has seen no call`);
};

const credentialsOf = ({ authorization, ...headers }: Recorded['headers']): readonly unknown[] => [
  authorization,
  headers['x-api-key'],
  headers['x-team'],
  headers['x-tenant'],
];

const EXPECTED = ({ key, token, tenant }: typeof FIRST): Readonly<Record<string, readonly unknown[]>> => ({
  open: [undefined, undefined, undefined, undefined],
  injected: [undefined, key, undefined, undefined],
  bearer: [`Bearer ${token}`, undefined, undefined, undefined],
  overridden: [`Bearer ${token}`, undefined, undefined, undefined],
  forwarded: [undefined, undefined, 'tools', tenant],
  // The proxy adds it, and the server in front of it nothing.
  proxied: [`Bearer ${token}`, undefined, 'search', undefined],
});

test('each backend gets what its Secret holds, and nothing of another one', { skip }, async () => {
  for (const [name, expected] of Object.entries(EXPECTED(FIRST)))
    assert.deepEqual(credentialsOf(await seenBy(name)), expected, name);
});

test('no value of a Secret is in another object', { skip }, async () => {
  const all = await node.kubectl(['get', 'configmaps,deployments,pods,vmcp,mcpremoteproxies,events', '-o', 'json']);
  for (const value of Object.values(FIRST)) assert.ok(!all.includes(value), value);
});

test('a rotated Secret counts within seconds, and no pod is replaced', { skip }, async () => {
  const pods = (): Promise<string> =>
    node.kubectl([
      'get',
      'pods',
      '-o',
      'jsonpath={range .items[*]}{.metadata.uid} {.status.containerStatuses[0].restartCount}{"\\n"}{end}',
    ]);
  const before = await pods();
  const second = { key: 'second-key', token: 'second-token', tenant: 'second-tenant' };
  await callers.apply(secret(second));
  for (const [name, expected] of Object.entries(EXPECTED(second)))
    await until(
      `the new value at ${name}`,
      async () => (JSON.stringify(credentialsOf(await seenBy(name))) === JSON.stringify(expected) ? true : undefined),
      PATIENT,
    );
  assert.equal(await pods(), before);
});

interface Backend {
  readonly name: string;
  readonly status: string;
  readonly authType?: string;
  readonly authConfigRef?: string;
  readonly message?: string;
}
const backends = async (): Promise<ReadonlyMap<string, Backend>> => {
  const { status } = (await node.get('vmcp', 'gateway')) as {
    readonly status: { readonly discoveredBackends: readonly Backend[] };
  };
  return new Map(status.discoveredBackends.map((each) => [each.name, each]));
};

test('the status names the config of each, of the proxy its own', { skip }, async () => {
  const all = await backends();
  const shown = (name: string) => [all.get(name)?.authType, all.get(name)?.authConfigRef];
  assert.deepEqual(shown('open'), ['unauthenticated', undefined]);
  assert.deepEqual(shown('injected'), ['headerInjection', 'key']);
  assert.deepEqual(shown('overridden'), ['bearerToken', 'token']);
  assert.deepEqual(shown('proxied'), ['bearerToken', 'token']);
});

test('a key that goes is told, and its backends alone are out of use until it is back', { skip }, async () => {
  await node.kubectl([
    'patch',
    'secret',
    'credentials',
    '--type=json',
    '-p',
    '[{"op":"remove","path":"/data/tenant"}]',
  ]);
  const told = await until(
    'the status',
    async () => {
      const found = (await backends()).get('forwarded');
      return found?.status === 'unavailable' ? found : undefined;
    },
    PATIENT,
  );
  assert.match(told.message ?? '', /the secret of header X-Tenant is missing or empty/);
  assert.equal((await seenBy('bearer')).authorization, 'Bearer second-token');
  await callers.apply(secret({ key: 'third-key', token: 'third-token', tenant: 'third-tenant' }));
  await until('its return', async () => ((await backends()).get('forwarded')?.status === 'ready' ? true : undefined), {
    ...PATIENT,
  });
});
