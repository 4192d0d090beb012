import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { decodeJwt } from 'jose';
import { type Node, skipWithoutNode, startNode, until } from '../cluster/index.ts';
import { noCertificates } from '../fixtures/certificates.ts';
import { covers } from '../requirements.ts';
import { AGENT, NEWCOMER } from './agent.ts';
import { installChart } from './chart.ts';
import { clientSecret, type Corporate, corporateConfig, startCorporate } from './corporate.ts';
import { explained, explainedServer, podsOf, rules } from './explained.ts';
import {
  agentExample,
  type Callers,
  callersIn,
  ECHO,
  ECHOED,
  gatewayExample,
  referenceServer,
  resource,
  tokenOfAnotherCluster,
} from './callers.ts';

/**
 * Who may connect to what runs in a real cluster: its own service accounts, and users of an identity provider. The last
 * test changes what the others need.
 */
const skip = (await skipWithoutNode()) || noCertificates;
const PATIENT = { timeoutMs: 240_000, intervalMs: 200 } as const;
const ISSUER = 'https://kubernetes.default.svc';
/** Of examples/in-cluster */
const AUDIENCE = 'vmcp-gateway';

let node: Node;
let callers: Callers;
let corporate: Corporate;
let tokenFromElsewhere: string;

const untilReady = async (kind: string, name: string): Promise<void> => {
  const isReady = ['wait', `${kind}/${name}`, '--for=jsonpath={.status.phase}=Ready', '--timeout=240s'];
  await node
    .kubectl(isReady)
    .catch(async () =>
      assert.fail(`${kind} ${name}: ${await node.kubectl(['get', kind, name, '-o', 'jsonpath={.status}'])}`),
    );
};

const forServiceAccounts = (audience: string) => ({ oidcConfigRef: { name: 'cluster', audience } });
const ECHO_ONLY = `permit(principal, action == Action::"call_tool", resource == Tool::"echo")
  when { principal has "claim_kubernetes.io" && principal["claim_kubernetes.io"].namespace == "default" };`;
const forUsers = { oidcConfigRef: { name: 'corporate', audience: 'search' } };

before(async () => {
  if (skip !== false) return;
  tokenFromElsewhere = await tokenOfAnotherCluster('agent', AUDIENCE);
  node = await startNode();
  callers = callersIn(node);
  corporate = await startCorporate(node.hostAddress);
  await installChart(node);
  const limited = { rateLimiting: { perUser: { maxTokens: 2, refillPeriod: '1h' } } };
  const guarded = {
    ...forServiceAccounts('guarded'),
    ...limited,
    authzConfig: { type: 'inline', inline: { policies: [ECHO_ONLY] } },
  };
  await node.kubectl(['create', 'namespace', 'elsewhere']);
  await node.kubectl(['create', 'serviceaccount', 'agent', '--namespace', 'elsewhere']);
  await callers.apply(
    ...(await gatewayExample()),
    ...(await agentExample()),
    ...(await corporateConfig(corporate)),
    resource('MCPServer', 'everything', await referenceServer({ groupRef: { name: 'tools' } })),
    resource('MCPServer', 'guarded', await referenceServer(guarded)),
    rules('everything_get-sum'),
    explainedServer(forServiceAccounts('explained')),
    resource('MCPServer', 'piped', await referenceServer(forServiceAccounts('piped'), 'stdio')),
    resource('MCPRemoteProxy', 'search', {
      remoteUrl: 'http://mcpserver-everything.default.svc.cluster.local:8080/mcp',
      ...forUsers,
    }),
  );
  await Promise.all([
    untilReady('mcpserver', 'everything'),
    untilReady('mcpserver', 'guarded'),
    untilReady('mcpserver', 'piped'),
    untilReady('mcpremoteproxy', 'search'),
    untilReady('vmcp', 'gateway'),
    untilReady('vmcp', 'explained'),
    node.kubectl(['wait', 'pod/agent', '--for=condition=Ready', '--timeout=240s']),
  ]);
});

after(async () => {
  await node?.stop();
  await corporate?.close();
});

covers('oidcconfig.cluster-service-account.validates');
test('a pod calls a tool with the token of its service account, as the example has it', { skip }, async () => {
  const file = '/var/run/secrets/vmcp/token';
  const { names, content } = await until(
    'the first answered call',
    () => callers.inPod(AGENT, 'http://vmcp-gateway:4483/mcp', file, 'everything_echo'),
    PATIENT,
  );
  assert.ok((names as readonly string[]).includes('everything_echo'));
  assert.deepEqual(content, [{ type: 'text', text: 'Echo: from a pod' }]);
});

covers('oidcconfig.cluster-service-account.issuer');
test('without a token a pod gets 401, and metadata that names the issuer of the cluster', { skip }, async () => {
  const { status, metadata } = await callers.inPod(NEWCOMER, 'http://vmcp-gateway:4483/mcp');
  const { resource: named, authorization_servers } = metadata as Readonly<Record<string, unknown>>;
  assert.deepEqual(
    [status, named, authorization_servers],
    [401, 'http://vmcp-gateway.default.svc.cluster.local:4483', [ISSUER]],
  );
});

covers('oidcconfig.cluster-service-account.audience', 'oidcconfig.cluster-service-account.validates');
test('tokens for others, expired ones, changed ones and those of another cluster get 401', { skip }, async () => {
  const { tokenOf, resigned, statusOf } = callers;
  const token = await tokenOf('agent', AUDIENCE);
  assert.equal(await statusOf('vmcp-gateway', token), 200);
  assert.equal(await statusOf('vmcp-gateway', await resigned(token, {})), 200, 'by the key of the cluster');
  const [header, , signature] = token.split('.');
  const claims = JSON.stringify({ ...decodeJwt(token), sub: 'system:serviceaccount:default:admin' });
  const { iss, sub, aud } = decodeJwt(token);
  const elsewhere = decodeJwt(tokenFromElsewhere);
  assert.deepEqual([elsewhere.iss, elsewhere.sub, elsewhere.aud], [iss, sub, aud]);
  const now = Math.floor(Date.now() / 1_000);
  const otherKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  const refused = {
    'for another server': await tokenOf('agent', 'guarded'),
    'for the API server': await tokenOf('agent'),
    expired: await resigned(token, { iat: now - 3_600, nbf: now - 3_600, exp: now - 60 }),
    changed: `${header}.${Buffer.from(claims).toString('base64url')}.${signature}`,
    'of another cluster': tokenFromElsewhere,
    'of another key': await resigned(token, {}, otherKey),
  };
  for (const [what, each] of Object.entries(refused)) assert.equal(await statusOf('vmcp-gateway', each), 401, what);
});

test('an MCPServer takes tokens for itself, and lets each user call so often', { skip }, async () => {
  const { tokenOf, connect, called, statusOf } = callers;
  const origin = 'http://mcpserver-guarded.default.svc.cluster.local:8080';
  const { status, metadata } = await callers.inPod(NEWCOMER, `${origin}/mcp`);
  assert.deepEqual([status, (metadata as { readonly resource?: unknown }).resource], [401, origin]);
  assert.equal(await statusOf('mcpserver-guarded', await tokenOf('agent', AUDIENCE)), 401);

  const client = await connect('mcpserver-guarded', await tokenOf('agent', 'guarded'));
  const offered = async () => ((await toolNames(client)).length > 0 ? toolNames(client) : undefined);
  assert.deepEqual(await until('the tools', offered, PATIENT), ['echo']);
  for (let call = 0; call < 2; call += 1) assert.deepEqual((await client.callTool(ECHO)).content, ECHOED);
  const { code, data } = await client.callTool(ECHO).then(
    () => assert.fail('the third call was let through'),
    (error: { readonly code?: unknown; readonly data?: { readonly reason?: unknown } }) => error,
  );
  assert.deepEqual([code, data?.reason], [429, 'rate_limited']);
  await client.close();
  assert.deepEqual(await called('mcpserver-guarded', await tokenOf('default', 'guarded')), ECHOED, 'another user');
});

test('so does one that speaks over standard input and output', { skip }, async () => {
  const { tokenOf, called, statusOf } = callers;
  assert.equal(await statusOf('mcpserver-piped'), 401);
  assert.equal(await statusOf('mcpserver-piped', await tokenOf('agent', 'guarded')), 401);
  const token = await tokenOf('agent', 'piped');
  assert.deepEqual(await until('the first answer', () => called('mcpserver-piped', token), PATIENT), ECHOED);
});

covers('oidcconfig.inline.client-secret-enables-introspection');
test('an MCPRemoteProxy takes tokens of a provider that a ConfigMap vouches for', { skip }, async () => {
  const { called, statusOf } = callers;
  const { provider } = corporate;
  const origin = 'http://mcpremoteproxy-search.default.svc.cluster.local:8080';
  const { status, metadata } = await callers.inPod(NEWCOMER, `${origin}/mcp`);
  const { resource: named, authorization_servers } = metadata as Readonly<Record<string, unknown>>;
  assert.deepEqual([status, named, authorization_servers], [401, origin, [provider.issuer]]);
  const token = await provider.token();
  // The server behind it may have come up after it.
  const answer = await until('the first answer', () => called('mcpremoteproxy-search', token), PATIENT);
  assert.deepEqual(answer, ECHOED);
  assert.equal(await statusOf('mcpremoteproxy-search', await provider.token({ aud: 'other' })), 401);
  provider.opaque.set('opaque-1', { active: true, sub: 'alice', aud: 'search' });
  assert.deepEqual(await called('mcpremoteproxy-search', 'opaque-1'), ECHOED);
  assert.equal(await statusOf('mcpremoteproxy-search', 'opaque-2'), 401);
});

test('policies tell service accounts apart by name and by namespace', { skip }, async () => {
  const { connect, tokenOf } = callers;
  const other = await connect('vmcp-gateway', await tokenOf('default', AUDIENCE));
  assert.deepEqual(await toolNames(other), []);
  await other.close();
  const token = await tokenOf('agent', 'guarded', 'elsewhere');
  const stranger = await connect('mcpserver-guarded', token);
  assert.deepEqual(await toolNames(stranger), []);
  await assert.rejects(stranger.callTool(ECHO));
  await stranger.close();
});

test(
  'vmcp explain says of each pod what its policies decide, and changed ones are in force in all without a restart',
  { skip },
  async () => {
    const { apply, tokenOf } = callers;
    const asked = { server: 'explained', token: await tokenOf('agent', 'explained'), tool: 'everything_echo' };
    const before = await podsOf(node, 'virtualmcpserver', 'explained');
    const refused = await until(
      'both pods know the tool',
      async () => {
        const each = await explained(node, asked);
        return each.every(({ steps }) => steps.some(({ step }) => step === 'policies')) ? each : undefined;
      },
      PATIENT,
    );
    assert.deepEqual(
      refused.map(({ allowed, listed }) => [allowed, listed]),
      [
        [false, false],
        [false, false],
      ],
    );
    for (const { steps } of refused) {
      assert.match(steps.find(({ step }) => step === 'identity')?.reason ?? '', /system:serviceaccount:default:agent/);
      assert.equal(steps.find(({ step }) => step === 'policies')?.outcome, 'refused');
    }
    await apply(rules('everything_echo'));
    const appliedAt = performance.now();
    const allowed = async () => ((await explained(node, asked)).every((each) => each.allowed) ? true : undefined);
    await until('the new policies', allowed, PATIENT);
    console.log(
      `the new policies are in force ${((performance.now() - appliedAt) / 1000).toFixed(1)} s after kubectl apply`,
    );
    const client = await callers.connect('vmcp-explained', asked.token);
    assert.deepEqual(await toolNames(client), ['everything_echo']);
    await client.close();
    assert.deepEqual(await podsOf(node, 'virtualmcpserver', 'explained'), before);
  },
);

const toolNames = async (client: Client): Promise<readonly string[]> =>
  (await client.listTools()).tools.map(({ name }) => name);

test('a client secret that is rotated is used without a restart', { skip }, async () => {
  const { statusOf, apply } = callers;
  const { provider } = corporate;
  const before = await podsOf(node, 'mcpremoteproxy', 'search');
  provider.client.secret = 'second';
  provider.opaque.set('opaque-3', { active: true, sub: 'alice', aud: 'search' });
  // The provider does not take the client any more, which says nothing about the token.
  assert.equal(await statusOf('mcpremoteproxy-search', 'opaque-3'), 503);
  await apply(clientSecret('second'));
  const appliedAt = performance.now();
  const isTaken = async () => ((await statusOf('mcpremoteproxy-search', 'opaque-3')) === 200 ? true : undefined);
  await until('the new secret', isTaken, PATIENT);
  console.log(`the new secret is used ${((performance.now() - appliedAt) / 1000).toFixed(1)} s after kubectl apply`);
  assert.deepEqual(await podsOf(node, 'mcpremoteproxy', 'search'), before);
});

test(
  'an MCPServer that everybody could call asks for tokens from when it is Ready with callers',
  { skip },
  async () => {
    const { statusOf, tokenOf, called, apply } = callers;
    assert.equal(await statusOf('mcpserver-everything'), 200);
    const callersOfIt = forServiceAccounts('everything');
    await apply(
      resource('MCPServer', 'everything', await referenceServer({ groupRef: { name: 'tools' }, ...callersOfIt })),
    );
    const appliedAt = performance.now();
    await until('the new spec', async () => {
      const { status } = (await node.get('mcpserver', 'everything')) as { readonly status?: Status };
      const { phase, conditions = [] } = status ?? {};
      const isOpen = conditions.some(({ type }) => type === 'ServesWithoutAuth');
      return phase === 'Ready' && !isOpen && status?.observedGeneration === 2 ? true : undefined;
    });
    console.log(`it is Ready ${((performance.now() - appliedAt) / 1000).toFixed(1)} s after kubectl apply`);
    assert.equal(await statusOf('mcpserver-everything'), 401);
    const token = await tokenOf('agent', 'everything');
    assert.deepEqual(await until('the first answer', () => called('mcpserver-everything', token), PATIENT), ECHOED);
  },
);

interface Status {
  readonly phase?: string;
  readonly observedGeneration?: number;
  readonly conditions?: readonly { readonly type: string }[];
}
