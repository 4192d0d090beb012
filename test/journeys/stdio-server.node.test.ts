import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type Node, skipWithoutNode, startNode, until } from '../cluster/index.ts';
import { versionOf } from '../cluster/images/packages.ts';
import { installChart } from './chart.ts';

/** One story on a real node; each test needs the ones before it. */
const root = join(import.meta.dirname, '..', '..');
const skip = await skipWithoutNode();
const POD = 'mcpserver-everything-0';
const BRIDGE_ACCOUNT = 'system:serviceaccount:default:mcpserver-everything';

let node: Node;
let client: Client;

const kubectl = (...args: readonly string[]): Promise<string> => node.kubectl(args);

const inContainer = (container: string, program: string, script: string): Promise<string> =>
  kubectl('exec', POD, '--container', container, '--', program, '-e', script);

const apply = (kind: string, name: string, spec: object): Promise<string> =>
  node.kubectl(
    ['apply', '--filename', '-'],
    JSON.stringify({ apiVersion: 'vmcp.dev/v1beta1', kind, metadata: { name }, spec }),
  );

/** An image that was made for npx, started without a port: it speaks over its standard input and output. */
const everything = async (): Promise<object> => {
  const manifest = await readFile(join(root, 'examples/quickstart/backends/everything.yaml'), 'utf8');
  const version = await versionOf('@modelcontextprotocol/server-everything');
  return {
    groupRef: { name: 'tools' },
    image: /image: (\S+)/.exec(manifest)?.[1],
    args: ['npx', '--yes', `@modelcontextprotocol/server-everything@${version}`],
    env: [{ name: 'HOME', value: '/tmp' }],
    podTemplateSpec: { spec: { securityContext: { runAsUser: 1000 } } },
  };
};

const connect = async (): Promise<Client> => {
  const address = (await kubectl('get', 'service', 'vmcp-demo', '-o', 'jsonpath={.spec.clusterIP}')).trim();
  const connected = new Client({ name: 'journey', version: '1.0.0' });
  await connected.connect(new StreamableHTTPClientTransport(new URL(`http://${address}:4483/mcp`)));
  return connected;
};

/** The first answer that is no error, and how long it took. */
const echoed = (message: string): Promise<unknown> =>
  until(
    'the echo',
    async () => {
      const { content, isError } = await client.callTool({ name: 'everything_echo', arguments: { message } });
      return isError === true ? undefined : content;
    },
    { timeoutMs: 240_000, intervalMs: 200 },
  );

const timed = async (what: string, work: Promise<unknown>): Promise<void> => {
  const startedAt = performance.now();
  await work;
  console.log(`${what}: ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
};

const restarts = (container: string): Promise<string> =>
  kubectl('get', 'pod', POD, '-o', `jsonpath={.status.containerStatuses[?(@.name=="${container}")].restartCount}`);

before(async () => {
  if (skip !== false) return;
  node = await startNode();
  await installChart(node, '--set', 'webhook.enabled=false');
});

after(async () => {
  await client?.close();
  await node?.stop();
});

test('a stdio server becomes Ready, and a client calls its tools through a VirtualMCPServer', { skip }, async () => {
  await apply('MCPGroup', 'tools', {});
  await apply('MCPServer', 'everything', await everything());
  const config = { operational: { failureHandling: { partialFailureMode: 'best_effort' } } };
  await apply('VirtualMCPServer', 'demo', {
    groupRef: { name: 'tools' },
    incomingAuth: { type: 'anonymous' },
    config,
  });
  await timed('from kubectl apply to phase Ready', until('phase Ready', isReady, { timeoutMs: 240_000 }));
  client = await until('an endpoint that answers', connect, { timeoutMs: 240_000, intervalMs: 200 });
  assert.deepEqual(await echoed('hello'), [{ type: 'text', text: 'Echo: hello' }]);
  const url = await kubectl('get', 'mcpserver', 'everything', '-o', 'jsonpath={.status.url}');
  assert.equal(url, 'http://mcpserver-everything.default.svc.cluster.local:8080/mcp');
});

const isReady = async (): Promise<true | undefined> => {
  const { status } = (await node.get('mcpserver', 'everything')) as { readonly status?: { readonly phase?: string } };
  return status?.phase === 'Ready' ? true : undefined;
};

test('the token of the account is in the bridge alone, and is good for its own pod alone', { skip }, async () => {
  const token = '/var/run/secrets/kubernetes.io/serviceaccount/token';
  const exists = `console.log(require('fs').existsSync('${token}'))`;
  assert.equal((await inContainer('mcp', 'node', exists)).trim(), 'false');
  assert.equal((await inContainer('bridge', '/nodejs/bin/node', exists)).trim(), 'true');
  const asked = [
    ['create', `pods/${POD}`, '--subresource=attach'],
    ['get', `pods/${POD}`],
    ['get', 'pods/mcpserver-everything-1'],
    ['list', 'pods'],
    ['create', `pods/${POD}`, '--subresource=exec'],
    ['create', 'pods', '--subresource=attach'],
    ['delete', `pods/${POD}`],
    ['get', 'secrets'],
  ];
  const answers = await Promise.all(
    asked.map(async (each) => {
      const answer = await kubectl('auth', 'can-i', ...each, '--as', BRIDGE_ACCOUNT).catch(() => 'no');
      return answer.trim();
    }),
  );
  assert.deepEqual(answers, ['yes', 'yes', 'no', 'no', 'no', 'no', 'no', 'no']);
});

test('when the server is killed it comes back, and an open session goes on', { skip }, async () => {
  await kill('mcp');
  await timed('from the kill to the next answer', echoed('again'));
  assert.equal(await restarts('mcp'), '1');
  assert.equal(await restarts('bridge'), '0');
});

/** Nobody may kill the first process of a container from inside; it ends when what it has started does. */
const kill = (container: string): Promise<string> => {
  const script = `for (const pid of require('fs').readdirSync('/proc').map(Number))
    if (pid > 1 && pid !== process.pid) try { process.kill(pid, 'SIGKILL'); } catch {}`;
  return inContainer(container, 'node', script);
};

test('when the bridge is started anew the server lives on, and is served again', { skip }, async () => {
  const status = await inContainer('bridge', '/nodejs/bin/node', MEMORY);
  console.log(`the bridge holds ${status.trim()}`);
  // Its own handler makes of that a graceful stop.
  await inContainer('bridge', '/nodejs/bin/node', `process.kill(1, 'SIGTERM')`);
  await until('its restart', async () => ((await restarts('bridge')) === '1' ? true : undefined));
  await timed('from the restart to the next answer', echoed('once more'));
  assert.equal(await restarts('mcp'), '1');
});

const MEMORY = `console.log(/VmRSS:.*/.exec(require('fs').readFileSync('/proc/1/status', 'utf8'))[0])`;

test('who scales it gets a Role that grows along', { skip }, async () => {
  await kubectl('scale', 'statefulset', 'mcpserver-everything', '--replicas', '2');
  await kubectl('wait', 'pod/mcpserver-everything-1', '--for', 'condition=Ready', '--timeout', '60s').catch(() =>
    until('the second pod', () => kubectl('wait', 'pod/mcpserver-everything-1', '--for', 'condition=Ready')),
  );
  const names = await kubectl('get', 'role', 'mcpserver-everything', '-o', 'jsonpath={.rules[*].resourceNames}');
  assert.equal(names, `["${POD}","mcpserver-everything-1"] ["${POD}","mcpserver-everything-1"]`);
});

test('deleted, it takes everything along', { skip }, async () => {
  await kubectl('delete', 'mcpserver', 'everything', '--timeout=60s');
  const kinds = 'pod,statefulset,service,role,rolebinding,serviceaccount';
  await until('the end of its children', async () => {
    const left = await kubectl('get', kinds, '-l', 'app.kubernetes.io/instance=everything', '-o', 'name');
    return left.trim() === '' ? true : undefined;
  });
});
