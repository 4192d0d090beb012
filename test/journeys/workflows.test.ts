import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type ElicitResult, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { answerJson, type Behaviour, type FixtureBackend, startBackend } from '../fixtures/backend.ts';
import { freePortPair } from '../fixtures/ports.ts';
import { startLocal, type Terminal } from '../operator/local/terminal.ts';

const EXAMPLES = join(import.meta.dirname, '..', '..', 'examples', 'workflows');
const FILES = ['gateway.yaml', 'investigate-incident.yaml', 'deploy.yaml', 'assign-stale-issues.yaml'];

const structured = (value: object): Behaviour => answerJson(JSON.stringify({ content: [], structuredContent: value }));
const failing: Behaviour = answerJson('{"content":[{"type":"text","text":"no such issue"}],"isError":true}');

const ISSUES = [1, 2, 3].map((id) => ({ id: `ISSUE-${id}` }));

/** What each tool answers, by server. */
const SERVERS: Readonly<Record<string, Readonly<Record<string, (args: Record<string, unknown>) => Behaviour>>>> = {
  logs: { search: () => structured({ count: 3, newest: 'out of memory' }) },
  deployments: {
    latest: () => failing,
    plan: () => structured({ id: 'PLAN-1', changes: 2 }),
    apply: ({ plan }) => structured({ url: `https://deployments.example/${String(plan)}` }),
  },
  tracker: {
    search: () => structured({ issues: ISSUES }),
    create: () => structured({ id: 'INC-1' }),
    assign: ({ id }) => (id === 'ISSUE-2' ? failing : structured({})),
  },
  chat: { post: () => structured({}) },
};

describe('examples/workflows', () => {
  const backends = new Map<string, FixtureBackend>();
  let local: Terminal;
  let url: string;

  before(async () => {
    for (const [name, tools] of Object.entries(SERVERS)) {
      const on = ({ recorded: { method, params } }: Parameters<Behaviour>[0]): Behaviour | undefined =>
        method === 'tools/call'
          ? tools[String(params['name'])]?.(params['arguments'] as Record<string, unknown>)
          : undefined;
      backends.set(name, await startBackend({ tools: Object.keys(tools), on }));
    }
    const port = await freePortPair();
    url = `http://127.0.0.1:${port}/mcp`;
    const files = Object.fromEntries(FILES.map((name) => [name, readFileSync(join(EXAMPLES, name), 'utf8')]));
    const mapped = [...backends].flatMap(([name, backend]) => ['--backend', `${name}=${backend.url}`]);
    local = await startLocal({ ...files, 'local.yaml': `ports: { workflows: ${port} }\n` }, mapped);
    await local.sees(/workflows {2}Ready/);
  });
  after(async () => {
    await local[Symbol.asyncDispose]();
    await Promise.all([...backends.values()].map((backend) => backend.close()));
  });

  /** The arguments of the calls that a tool has got. */
  const callsOf = (server: string, tool: string): readonly unknown[] =>
    (backends.get(server)?.requests ?? []).flatMap(({ method, params }) =>
      method === 'tools/call' && params['name'] === tool ? [params['arguments']] : [],
    );
  const asked: string[] = [];
  const connect = async (answer: ElicitResult): Promise<Client> => {
    const client = new Client({ name: 'journey', version: '1.0.0' }, { capabilities: { elicitation: {} } });
    client.setRequestHandler(ElicitRequestSchema, ({ params: { message } }) => {
      asked.push(message);
      return answer;
    });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    return client;
  };
  const called = async (name: string, args: Record<string, unknown>, answer: ElicitResult = { action: 'cancel' }) => {
    const client = await connect(answer);
    try {
      return await client.callTool({ name, arguments: args });
    } finally {
      await client.close();
    }
  };

  test('offers its workflows, and nothing else', async () => {
    const client = await connect({ action: 'cancel' });
    const { tools } = await client.listTools();
    await client.close();
    assert.deepEqual(tools.map(({ name }) => name).toSorted(), [
      'assign_stale_issues',
      'deploy',
      'investigate_incident',
    ]);
    assert.ok(tools.every(({ outputSchema }) => outputSchema !== undefined));
  });

  test('investigates an incident, although one of the servers fails', async () => {
    const { structuredContent } = await called('investigate_incident', { service: 'shop' });
    assert.deepEqual(structuredContent, { incident: 'INC-1', errors: 3, version: 'unknown' });
    assert.deepEqual(callsOf('tracker', 'create'), [
      {
        title: 'shop: 3 errors in 30 minutes',
        body: `Version unknown. Newest error: out of memory. Related: ${JSON.stringify(ISSUES)}.`,
      },
    ]);
  });

  test('deploys what a person has agreed to, and tells why', async () => {
    const args = { service: 'shop', version: '1.2.3' };
    const yes = { action: 'accept', content: { reason: 'it is fixed there' } } as const;
    const { structuredContent } = await called('deploy', args, yes);
    assert.deepEqual(structuredContent, { deployed: true, url: 'https://deployments.example/PLAN-1' });
    assert.deepEqual(asked.splice(0), ['Deploy shop 1.2.3? It changes 2 objects.']);
    assert.deepEqual(callsOf('chat', 'post'), [{ channel: 'releases', text: 'shop 1.2.3 is out: it is fixed there' }]);
  });

  test('deploys nothing where the person declines', async () => {
    const before = callsOf('deployments', 'apply').length;
    const { structuredContent } = await called('deploy', { service: 'shop', version: '2' }, { action: 'decline' });
    assert.deepEqual(structuredContent, { deployed: false });
    assert.equal(callsOf('deployments', 'apply').length, before);
  });

  test('assigns each stale issue, and counts those where that fails', async () => {
    const { structuredContent } = await called('assign_stale_issues', { assignee: 'ada', days: 7 });
    assert.deepEqual(structuredContent, { found: 3, assigned: 2, failed: 1 });
    assert.deepEqual(callsOf('tracker', 'search').at(-1), { query: 'updated:>7d' });
    assert.deepEqual(new Set(callsOf('tracker', 'assign')), new Set(ISSUES.map(({ id }) => ({ id, assignee: 'ada' }))));
  });
});
