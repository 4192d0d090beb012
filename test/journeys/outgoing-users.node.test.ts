import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { systemClock } from '../../runtime/process/index.ts';
import { type Node, skipWithoutNode, startNode, until } from '../cluster/index.ts';
import { answerStatus, type Exchange, type FixtureBackend, startBackend } from '../fixtures/backend.ts';
import { noCertificates } from '../fixtures/certificates.ts';
import { REGION, roleArn } from '../fixtures/cloud-sts.ts';
import { arrived, verifySigV4 } from '../fixtures/sigv4-verifier.ts';
import { type FixtureSts, startSts } from '../fixtures/sts.ts';
import { answerWith, exchangedIn, startTokenEndpoint, type TokenEndpoint } from '../fixtures/token-endpoint.ts';
import { type Callers, callersIn, resource } from './callers.ts';
import { installChart } from './chart.ts';
import { type Corporate, corporateConfig, startCorporate } from './corporate.ts';

/**
 * From the Secret and the token of a user to what a backend sees, in a real cluster: the strategies whose credential is
 * made for each user. The security token service is asked under its real name, which the pod template leads to the host,
 * and whose authority it names. The last test changes what the others need.
 */
const skip = (await skipWithoutNode()) || noCertificates;
const PATIENT = { timeoutMs: 240_000, intervalMs: 200 } as const;
const STS = `sts.${REGION}.amazonaws.com`;

let node: Node;
let callers: Callers;
let corporate: Corporate;
let tokens: TokenEndpoint;
let sts: FixtureSts;
/** The client secret that the token endpoint takes. */
let taken = 'first';
/** On the host, at an address that pods reach. */
let exchanged: FixtureBackend;
let signed: FixtureBackend;
/** Users and roles by whose keys good signatures were made, in order. */
const signers: string[] = [];
const faults: string[] = [];

const secretOf = (value: string): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'exchange' },
  stringData: { secret: value },
});

const authConfig = (type: string, block: object): object =>
  resource('MCPExternalAuthConfig', type.toLowerCase(), { type, [type]: block });

/** Who calls is told by the path of the real service: requests without a signature are the gateway's own checks. */
const onSigned = ({ recorded: { headers, method, http, body }, response }: Exchange) => {
  if (headers.authorization === undefined) return answerStatus(403);
  const verdict = verifySigV4(arrived(response.req, body), {
    keyOf: sts.keyOf,
    region: REGION,
    service: 'cloud-mcp',
    now: Date.now,
  });
  if (!verdict.ok) {
    faults.push(`${method ?? http}: ${verdict.problem}`);
    return answerStatus(403);
  }
  const role = sts.keyOf(verdict.accessKeyId);
  if (method === 'tools/call') signers.push(`${role?.sessionName} as ${role?.roleArn}`);
  return undefined;
};

const entry = (name: string, backend: FixtureBackend, config: string): object =>
  resource('MCPServerEntry', name, {
    groupRef: { name: 'tools' },
    remoteUrl: backend.url,
    transport: 'streamable-http',
    externalAuthConfigRef: { name: config },
  });

/** The name of the service leads to the host, and the authority of the host's certificate is trusted. */
const podTemplateSpec = () => ({
  spec: {
    hostAliases: [{ ip: node.hostAddress, hostnames: [STS] }],
    volumes: [{ name: 'authorities', configMap: { name: 'authorities' } }],
    containers: [
      {
        name: 'vmcp',
        env: [{ name: 'NODE_EXTRA_CA_CERTS', value: '/etc/authorities/ca.pem' }],
        volumeMounts: [{ name: 'authorities', mountPath: '/etc/authorities', readOnly: true }],
      },
    ],
  },
});

const everything = async (): Promise<readonly object[]> => [
  ...(await corporateConfig(corporate)),
  secretOf('first'),
  resource('MCPGroup', 'tools', {}),
  authConfig('tokenExchange', {
    tokenUrl: tokens.url,
    audience: 'the-backend',
    clientId: 'gateway',
    clientSecretRef: { name: 'exchange', key: 'secret' },
  }),
  authConfig('cloudSts', {
    region: REGION,
    roleMappings: [{ roleArn: roleArn('admin'), claim: 'admins' }],
    fallbackRoleArn: roleArn('reader'),
  }),
  entry('exchanged', exchanged, 'tokenexchange'),
  entry('signed', signed, 'cloudsts'),
  resource('MCPRemoteProxy', 'proxied', {
    remoteUrl: exchanged.url,
    groupRef: { name: 'tools' },
    externalAuthConfigRef: { name: 'tokenexchange' },
  }),
  resource('VirtualMCPServer', 'gateway', {
    groupRef: { name: 'tools' },
    incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'corporate', audience: 'search' } },
    podTemplateSpec: podTemplateSpec(),
  }),
];

before(async () => {
  if (skip !== false) return;
  node = await startNode();
  callers = callersIn(node);
  const address = node.hostAddress;
  corporate = await startCorporate(address, [STS]);
  tokens = await startTokenEndpoint({ address, tls: corporate.tls });
  tokens.instead = (response, asked) => {
    const basic = `Basic ${Buffer.from(`gateway:${taken}`).toString('base64')}`;
    const { subject_token: subject } = asked.form;
    const token = Buffer.from(`exchanged for ${subject}`).toString('base64url');
    const isTaken = asked.headers.authorization === basic;
    if (isTaken) answerWith(200, { access_token: token, token_type: 'Bearer', expires_in: 300 })(response, asked);
    else answerWith(401, { error: 'invalid_client' })(response, asked);
  };
  sts = await startSts(systemClock, { address, port: 443, tls: corporate.tls });
  const on = ({ recorded: { headers } }: Exchange) =>
    exchangedIn(headers.authorization) === undefined ? answerStatus(401) : undefined;
  exchanged = await startBackend({ address, tools: ['echo'], on });
  signed = await startBackend({ address, tools: ['echo'], on: onSigned });
  await installChart(node);
  await callers.apply(...(await everything()));
  for (const object of ['vmcp/gateway', 'mcpremoteproxy/proxied'])
    await node
      .kubectl(['wait', object, '--for=jsonpath={.status.phase}=Ready', '--timeout=240s'])
      .catch(async () => assert.fail(await node.kubectl(['get', object, '-o', 'jsonpath={.status}'])));
});

after(async () => {
  await node?.stop();
  await Promise.all([corporate, tokens, sts, exchanged, signed].map((each) => each?.close()));
});

interface User {
  readonly token: string;
  readonly client: Client;
}
const users = new Map<string, Promise<User>>();
const signIn = async (name: string, claims: object): Promise<User> => {
  const token = await corporate.provider.token({ sub: name, ...claims });
  return { token, client: await callers.connect('vmcp-gateway', token) };
};
const user = (name: string): Promise<User> => {
  const known = users.get(name) ?? signIn(name, name === 'alice' ? { groups: ['admins'] } : {});
  users.set(name, known);
  return known;
};

const call = async (name: string, tool: string): Promise<void> => {
  const { client } = await user(name);
  const { isError, content } = await client.callTool({ name: tool, arguments: { who: name } });
  assert.notEqual(isError, true, JSON.stringify(content));
};
/** What `Authorization` of the calls says, in order. */
const seen = (): readonly (string | undefined)[] =>
  exchanged.requests
    .filter(({ method }) => method === 'tools/call')
    .map(({ headers }) => exchangedIn(headers.authorization));

test(
  'a backend gets what the token of each user was exchanged for, by a client that shows its secret',
  { skip },
  async () => {
    for (const name of ['alice', 'bob', 'alice']) await call(name, 'exchanged_echo');
    const [alice, bob] = await Promise.all([user('alice'), user('bob')]);
    assert.deepEqual(
      seen(),
      [alice, bob, alice].map(({ token }) => `exchanged for ${token}`),
    );
    assert.equal(tokens.exchanges.length, 4, 'one for each user and backend, the proxy included');
    assert.ok(tokens.exchanges.every(({ form }) => form['audience'] === 'the-backend'));
  },
);

test('so does one behind a proxy, which passes on what the server has exchanged', { skip }, async () => {
  const before = seen().length;
  for (const name of ['bob', 'alice']) await call(name, 'proxied_echo');
  const [alice, bob] = await Promise.all([user('alice'), user('bob')]);
  assert.deepEqual(
    seen().slice(before),
    [bob, alice].map(({ token }) => `exchanged for ${token}`),
  );
});

test(
  'a backend verifies signatures by the role that the security token service gives for each user',
  { skip },
  async () => {
    for (const name of ['alice', 'bob', 'alice']) await call(name, 'signed_echo');
    const [alice, bob] = [`alice as ${roleArn('admin')}`, `bob as ${roleArn('reader')}`];
    assert.deepEqual(signers, [alice, bob, alice]);
    assert.deepEqual([faults, sts.faults], [[], []]);
    const shown = await Promise.all(['alice', 'bob'].map(async (name) => (await user(name)).token));
    assert.deepEqual(new Set(sts.given.map(({ token }) => token)), new Set(shown));
    assert.deepEqual(new Set(sts.given.map(({ endpoint }) => endpoint)), new Set([`https://${STS}/`]));
    assert.equal(sts.given.length, 2);
  },
);

test('no token and no secret is in an object of the cluster, or in a log', { skip }, async () => {
  const all = await node.kubectl(['get', 'configmaps,deployments,pods,vmcp,mcpremoteproxies,events', '-o', 'json']);
  const logs = await node.kubectl(['logs', '--selector', 'app.kubernetes.io/managed-by=vmcp-operator', '--tail=-1']);
  const { token } = await user('alice');
  const secrets = [
    token,
    Buffer.from(`exchanged for ${token}`).toString('base64url'),
    sts.keyOf(sts.given[0]?.accessKeyId ?? '')?.secret,
  ];
  assert.match(logs, /"level"/);
  for (const each of secrets) assert.ok(each !== undefined && !`${all}${logs}`.includes(each), each);
});

test('a rotated client secret counts for the next exchange, and no pod is replaced', { skip }, async () => {
  const pods = (): Promise<string> => node.kubectl(['get', 'pods', '-o', 'jsonpath={.items[*].metadata.uid}']);
  const before = await pods();
  taken = 'second';
  await callers.apply(secretOf('second'));
  await until(
    'an exchange with the new secret',
    // Each is a user whom nobody has seen, or the token would be in the cache.
    () =>
      call(`dave-${tokens.exchanges.length}`, 'exchanged_echo').then(
        () => true as const,
        () => undefined,
      ),
    PATIENT,
  );
  assert.equal(await pods(), before);
});
