import assert from 'node:assert/strict';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { after, before, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type Node, skipWithoutNode, startNode, until } from '../cluster/index.ts';
import { installChart, NAMESPACE, uninstallChart } from './chart.ts';

/** One story on a real node, told in the order a platform engineer lives it; each test needs the ones before it. */
const root = join(import.meta.dirname, '..', '..');
const skip = await skipWithoutNode();
const OPERATOR = `system:serviceaccount:${NAMESPACE}:vmcp-operator`;
/** Long enough for a status pull (30 s) to fall into it. */
const AT_REST_MS = 35_000;

let node: Node;
let client: Client;

const kubectl = (...args: readonly string[]): Promise<string> => node.kubectl(args);

const connect = async (): Promise<Client> => {
  const address = (await kubectl('get', 'service', 'vmcp-quickstart', '-o', 'jsonpath={.spec.clusterIP}')).trim();
  const connected = new Client({ name: 'journey', version: '1.0.0' });
  await connected.connect(new StreamableHTTPClientTransport(new URL(`http://${address}:4483/mcp`)));
  return connected;
};

const toolNames = async (): Promise<readonly string[]> => (await client.listTools()).tools.map(({ name }) => name);

const phase = async (): Promise<string | undefined> => {
  const { status } = (await node.get('vmcp', 'quickstart')) as { readonly status?: { readonly phase?: string } };
  return status?.phase;
};

const podIdentity = (): Promise<string> =>
  kubectl(
    'get',
    'pods',
    '-l',
    'app.kubernetes.io/name=vmcp',
    '-o',
    'jsonpath={range .items[*]}{.metadata.uid} {.status.containerStatuses[*].restartCount}{"\\n"}{end}',
  );

const entry = (name: string, remoteUrl: string, more: object = {}) => ({
  apiVersion: 'vmcp.dev/v1beta1',
  kind: 'MCPServerEntry',
  metadata: { name },
  spec: { groupRef: { name: 'tools' }, remoteUrl, transport: 'streamable-http', ...more },
});

const operatorPods = async (): Promise<readonly string[]> => {
  const label = 'app.kubernetes.io/name=vmcp-operator';
  return (await kubectl('get', 'pods', '-n', NAMESPACE, '-l', label, '-o', 'name')).split('\n').filter(Boolean);
};

before(async () => {
  if (skip !== false) return;
  node = await startNode();
});

after(async () => {
  await client?.close();
  await node?.stop();
});

test('the chart installs the CRDs and the operator, which runs under its own service account', { skip }, async () => {
  await installChart(node);
  const replicas = await kubectl(
    'get',
    'deployment',
    '-n',
    NAMESPACE,
    'vmcp-operator',
    '-o',
    'jsonpath={.status.readyReplicas}',
  );
  assert.equal(replicas, '1');
});

test('what breaks a rule is refused by the webhook, which is reached through its Service', { skip }, async () => {
  const apply = (object: object, ...more: readonly string[]): Promise<string> =>
    node.kubectl(['apply', ...more, '-f', '-'], JSON.stringify(object));
  const refusal = /MCPServerEntry "bad" is invalid: spec\.remoteUrl: holds credentials; /;
  const bad = entry('bad', 'http://me:pw@everything:3001/mcp');
  // The default is Ignore: until the node knows the Service's endpoint, everything is let through.
  await until('the refusal', () =>
    apply(bad, '--dry-run=server').then(
      () => undefined,
      (error: Error) => (refusal.test(error.message) ? true : undefined),
    ),
  );
  await assert.rejects(apply(bad), refusal);

  const apiVersion = 'vmcp.dev/v1beta1';
  const login = {
    apiVersion,
    kind: 'MCPExternalAuthConfig',
    metadata: { name: 'login' },
    spec: { type: 'unauthenticated' },
  };
  await apply(login);
  await apply(entry('user', 'http://everything:3001/mcp', { externalAuthConfigRef: { name: 'login' } }));
  const removal = (): Promise<string> => kubectl('delete', 'mcpexternalauthconfig', 'login');
  await until('the guard to hold', () =>
    kubectl('delete', 'mcpexternalauthconfig', 'login', '--dry-run=server').then(
      () => undefined,
      () => true,
    ),
  );
  await assert.rejects(removal(), /MCPExternalAuthConfig login is in use \(MCPServerEntry\); /);
  await kubectl('delete', 'mcpserverentry', 'user');
  await removal();
});

test('while the operator is replaced under Fail, no request misses the webhook', { skip }, async () => {
  await installChart(node, '--set', 'webhook.failurePolicy=Fail');
  const answers = new Set<string>();
  const load = new AbortController();
  const keepAsking = async (): Promise<void> => {
    const bad = JSON.stringify(entry('bad', 'http://me:pw@everything:3001/mcp'));
    while (!load.signal.aborted) {
      const answer = await node.kubectl(['create', '--dry-run=server', '-f', '-'], bad).catch(String);
      answers.add(/spec\.remoteUrl: holds credentials/.test(answer) ? 'refused' : answer);
    }
  };
  const asking = keepAsking();
  await kubectl('rollout', 'restart', 'deployment', 'vmcp-operator', '-n', NAMESPACE);
  await kubectl('rollout', 'status', 'deployment', 'vmcp-operator', '-n', NAMESPACE, '--timeout', '90s');
  await until('the end of the old pod', async () => ((await operatorPods()).length === 1 ? true : undefined));
  load.abort();
  await asking;
  assert.deepEqual([...answers], ['refused']);
});

test('the quickstart becomes Ready, and a client lists and calls tools through the Service', { skip }, async () => {
  await kubectl(
    'apply',
    '-f',
    join(root, 'examples/quickstart/backends'),
    '-f',
    join(root, 'examples/quickstart/quickstart.yaml'),
  );
  const appliedAt = performance.now();
  client = await until('an endpoint that answers', connect, { timeoutMs: 240_000, intervalMs: 200 });
  const echo = { name: 'everything_echo', arguments: { message: 'hello' } };
  const answer = await until(
    'the first answered call',
    async () => {
      const result = await client.callTool(echo);
      return result.isError === true ? undefined : result;
    },
    { timeoutMs: 240_000, intervalMs: 200 },
  );
  console.log(`first answered tools/call ${((performance.now() - appliedAt) / 1000).toFixed(1)} s after kubectl apply`);
  assert.deepEqual(answer.content, [{ type: 'text', text: 'Echo: hello' }]);

  await until('phase Ready', async () => ((await phase()) === 'Ready' ? true : undefined), { timeoutMs: 240_000 });
  const names = await toolNames();
  assert.ok(names.includes('everything_echo') && names.includes('playwright_browser_navigate'), names.join(' '));
  console.log(await kubectl('get', 'vmcp,mcpgroup,mcpserverentry,pods', '-o', 'wide'));
});

test('at rest the operator writes nothing', { skip }, async () => {
  const isCounted = ({ resource }: { readonly resource: string }): boolean => !['leases', 'events'].includes(resource);
  const count = async (): Promise<number> => (await node.writes(OPERATOR)).filter(isCounted).length;
  await until('the last status', async () => {
    const before = await count();
    await pause(5_000);
    return (await count()) === before ? true : undefined;
  });
  const before = await count();
  assert.ok(before > 0, 'the operator has written under its own service account');
  await pause(AT_REST_MS);
  assert.deepEqual((await node.writes(OPERATOR)).filter(isCounted).slice(before), []);
});

test('a backend that is added shows its tools in the open session, without a restart', { skip }, async () => {
  const pods = await podIdentity();
  await node.kubectl(['apply', '-f', '-'], JSON.stringify(entry('second', 'http://everything:3001/mcp')));
  await until('its tools', async () => ((await toolNames()).includes('second_echo') ? true : undefined));
  assert.equal(await podIdentity(), pods);
});

test('a backend that is removed takes its tools along', { skip }, async () => {
  await kubectl('delete', 'mcpserverentry', 'second');
  await until('their end', async () => ((await toolNames()).includes('second_echo') ? undefined : true));
});

test('after kubectl delete everything is gone', { skip }, async () => {
  await client.close();
  await kubectl('delete', '-f', join(root, 'examples/quickstart/quickstart.yaml'), '--timeout=60s');
  const kinds = 'deployments,replicasets,pods,services,configmaps,serviceaccounts,vmcp,mcpgroups,mcpserverentries';
  const left = (): Promise<string> =>
    kubectl('get', kinds, '-l', 'app.kubernetes.io/managed-by=vmcp-operator', '-o', 'name');
  await until('the end of the children', async () => ((await left()) === '' ? true : undefined), { timeoutMs: 90_000 });
  const own = await kubectl('get', 'vmcp,mcpgroups,mcpserverentries', '-o', 'name');
  assert.equal(own, '');
});

test('helm uninstall leaves the CRDs and nothing else', { skip }, async () => {
  await uninstallChart(node);
  assert.match(await kubectl('get', 'crd', '-o', 'name'), /virtualmcpservers\.vmcp\.dev/);
  assert.equal(
    await kubectl(
      'get',
      'clusterrole,clusterrolebinding,validatingwebhookconfiguration',
      '-l',
      'app.kubernetes.io/instance=vmcp-operator',
      '-o',
      'name',
    ),
    '',
  );
});
