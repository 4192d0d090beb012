import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test, type TestContext } from 'node:test';
import { Agent, fetch as fetchWith } from 'undici';
import { type Node, skipWithoutNode, startNode, until } from '../cluster/index.ts';
import { type FixtureBackend, startBackend } from '../fixtures/backend.ts';
import { noCertificates, type TestCertificates, testCertificates } from '../fixtures/certificates.ts';
import { type Chromium, noChromium, startChromium } from '../fixtures/chromium.ts';
import { type OpenIdProvider, startOpenIdProvider } from '../fixtures/openid-provider.ts';
import { personAt } from '../fixtures/person.ts';
import { freePortPair } from '../fixtures/ports.ts';
import { noRedis, startRedis, type TestRedis } from '../fixtures/redis.ts';
import { type SignedIn, withSdkV1 } from '../peers/signing-in.ts';
import { callersIn, type Callers, resource } from './callers.ts';
import { installChart } from './chart.ts';
import { type Doorway, openDoorway } from './doorway.ts';
import {
  exampleOf,
  keySecret,
  newSigningKey,
  ownIssuer,
  passingOnTo,
  secret,
  type SignInKeys,
  withSpec,
} from './sign-in.ts';

/**
 * A person with a browser, from `kubectl apply` of the example to a tool that is called with the token of their
 * provider; each test needs the ones before it.
 */
const skip = (await skipWithoutNode()) || noRedis || noChromium || noCertificates;
const PATIENT = { timeoutMs: 240_000, intervalMs: 300 } as const;
const PASSWORD = 'of-the-store';
const CLIENT_SECRETS = { corporate: 'secret of corporate', hub: 'secret of hub' };

let node: Node;
let callers: Callers;
let redis: TestRedis;
let certificates: TestCertificates;
let providers: Readonly<Record<keyof typeof CLIENT_SECRETS, OpenIdProvider>>;
let backend: FixtureBackend;
let chromium: Chromium;
/** Where browsers and clients find the Services. */
let doors: Readonly<Record<'gateway' | 'proxy' | 'server', Doorway>>;
let home: string;
let client: SignedIn;

/** In use now, and before. */
const keys: SignInKeys = {
  signing: [newSigningKey(), newSigningKey()],
  hmac: [randomBytes(48), randomBytes(48)],
};
/** An example, with the addresses of the test. */
const example = (file: string): Promise<readonly object[]> =>
  exampleOf(file, {
    'https://mcp.example.com': doors.gateway.origin,
    'https://notes.example.com': doors.server.origin,
    'https://login.example.com': providers.corporate.issuer,
    'https://hub.example.com': providers.hub.issuer,
    'https://mcp.hub.example.com/mcp': backend.url,
    'redis:6379': `${node.hostAddress}:${redis.address.split(':')[1]}`,
  });

const startProvider = (name: keyof typeof CLIENT_SECRETS): Promise<OpenIdProvider> =>
  startOpenIdProvider({
    certificates,
    address: node.hostAddress,
    clients: [
      {
        client_id: 'vmcp',
        client_secret: CLIENT_SECRETS[name],
        redirect_uris: Object.values(doors).map(({ origin }) => `${origin}/mcp/oauth/callback`),
        grant_types: ['authorization_code', 'refresh_token'],
      },
    ],
  });

before(async () => {
  if (skip !== false) return;
  node = await startNode();
  callers = callersIn(node);
  home = await mkdtemp(join(tmpdir(), 'sign-in-'));
  certificates = await testCertificates(node.hostAddress);
  redis = await startRedis({ password: PASSWORD, lines: [`bind 127.0.0.1 ${node.hostAddress}`] });
  backend = await startBackend({ address: node.hostAddress, tools: ['whoami'], isStateless: true });
  const open = async (): Promise<Doorway> => openDoorway(await freePortPair());
  doors = { gateway: await open(), proxy: await open(), server: await open() };
  providers = { corporate: await startProvider('corporate'), hub: await startProvider('hub') };
  chromium = await startChromium();
  // The authority of the test has signed for the providers.
  await installChart(node, '--set', 'trustedCa.configMap=authorities', '--set', 'trustedCa.key=ca.pem');
  await callers.apply(
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'authorities' },
      data: { 'ca.pem': await readFile(certificates.caFile, 'utf8') },
    },
    keySecret(keys),
    secret('sign-in-providers', CLIENT_SECRETS),
    secret('redis', { password: PASSWORD }),
    ...(await example('sign-in/gateway.yaml')),
  );
  await untilReady('vmcp/gateway');
  await node.kubectl(['wait', 'vmcp/gateway', '--for=jsonpath={.status.backendCount}=1', '--timeout=180s']);
  await leadTo('gateway', 'vmcp-gateway');
});

after(async () => {
  await client?.close();
  await chromium?.stop();
  await node?.stop();
  await redis?.stop();
  for (const each of [backend, ...Object.values(providers ?? {}), ...Object.values(doors ?? {})]) await each?.close();
  await certificates?.remove();
  if (home !== undefined) await rm(home, { recursive: true });
});

const untilReady = (object: string): Promise<string> =>
  node.kubectl(['wait', object, '--for=jsonpath={.status.phase}=Ready', '--timeout=180s']);

const leadTo = async (door: keyof typeof doors, service: string): Promise<void> => {
  const { spec } = (await node.get('service', service)) as {
    readonly spec: { readonly clusterIP: string; readonly ports: readonly { readonly port: number }[] };
  };
  doors[door].leadTo({ host: spec.clusterIP, port: spec.ports[0]?.port ?? 0 });
};

/** `Authorization` of the call that the backend sees when the client calls this tool. */
const seenBy = async (tool: string, by = client): Promise<string> => {
  const before = backend.requests.length;
  assert.match(await by.call(tool), /whoami/);
  const [call] = backend.requests.slice(before).filter(({ method }) => method === 'tools/call');
  return call?.headers.authorization ?? '';
};

/** Whom the provider has issued this token to. */
const ownerAt = async (provider: OpenIdProvider, authorization: string): Promise<unknown> => {
  const dispatcher = new Agent({ connect: { ca: await readFile(certificates.caFile, 'utf8') } });
  try {
    const answer = await fetchWith(`${provider.issuer}/me`, { headers: { authorization }, dispatcher });
    return answer.ok ? ((await answer.json()) as { readonly sub?: string }).sub : answer.status;
  } finally {
    await dispatcher.close();
  }
};

const publishedKeys = async (): Promise<number> => {
  const { keys: published } = (await (await fetch(`${doors.gateway.origin}/.well-known/jwks.json`)).json()) as {
    readonly keys: readonly { readonly kid: string }[];
  };
  return new Set(published.map(({ kid }) => kid)).size;
};

const loginsAt = (provider: OpenIdProvider): number => provider.askedFor('/auth').length;

test(
  'a person signs in through the Service, and a tool is called with the token of their provider',
  { skip },
  async () => {
    const person = personAt(await chromium.open({ ignoreHTTPSErrors: true }));
    client = await withSdkV1('Streamable HTTP')({ url: `${doors.gateway.origin}/mcp`, home, browser: person });
    assert.match(await client.list(), /hub_whoami/);
    const sent = await seenBy('hub_whoami');
    assert.equal(await ownerAt(providers.hub, sent), 'alice');
    assert.equal(await ownerAt(providers.corporate, sent), 401, 'of no other provider');
    assert.equal(person.pages.length, 1, 'asked once');
    assert.deepEqual([loginsAt(providers.corporate), loginsAt(providers.hub)], [1, 1]);
  },
);

test('its conditions say that it can be started, and that nothing breaks logins', { skip }, async () => {
  const { status } = (await node.get('vmcp', 'gateway')) as {
    readonly status: { readonly conditions: readonly { readonly type: string; readonly status: string }[] };
  };
  const told = new Map(status.conditions.map(({ type, status: is }) => [type, is]));
  assert.equal(told.get('AuthServerConfigValidated'), 'True');
  assert.deepEqual([told.has('LoginsNotDurable'), told.has('CallbackInCluster')], [false, false]);
});

test('rotated Secrets count within a minute, no pod is replaced, and nobody signs in again', { skip }, async () => {
  const before = await node.kubectl(['get', 'pods', '-o', 'jsonpath={.items[*].metadata.uid}']);
  assert.equal(await publishedKeys(), 2);
  keys.signing = [newSigningKey(), keys.signing[0]];
  keys.hmac = [randomBytes(48), keys.hmac[0]];
  const jwks = async (): Promise<string> => (await fetch(`${doors.gateway.origin}/.well-known/jwks.json`)).text();
  const old = await jwks();
  await callers.apply(keySecret(keys), secret('sign-in-providers', { ...CLIENT_SECRETS, hub: 'another' }));
  await until('the new keys', async () => ((await jwks()) === old ? undefined : true), PATIENT);
  assert.equal(await ownerAt(providers.hub, await seenBy('hub_whoami')), 'alice');
  assert.deepEqual([loginsAt(providers.corporate), loginsAt(providers.hub)], [1, 1]);
  assert.equal(await node.kubectl(['get', 'pods', '-o', 'jsonpath={.items[*].metadata.uid}']), before);
  await until('the new client secret', async () => ((await usedAtHub('another')) ? true : undefined), PATIENT);
  await callers.apply(secret('sign-in-providers', CLIENT_SECRETS));
  await until('the old one', async () => ((await usedAtHub(CLIENT_SECRETS.hub)) ? true : undefined), PATIENT);
});

/** Whether a login that is begun now is finished with this secret at the hub. */
const usedAtHub = async (value: string): Promise<boolean> => {
  const opened = await chromium.open({ ignoreHTTPSErrors: true });
  const asked = providers.hub.askedFor('/token').length;
  const signingIn = withSdkV1('Streamable HTTP')({
    url: `${doors.gateway.origin}/mcp`,
    home,
    browser: {
      signIn: async (url) => {
        await opened.page.goto(url);
        throw new Error('seen enough');
      },
    },
  });
  await assert.rejects(signingIn, /seen enough/);
  const [request] = providers.hub.askedFor('/token').slice(asked);
  await opened.page.close();
  const [, basic = ''] = /^Basic (.*)$/.exec(request?.headers.authorization ?? '') ?? [];
  const [, ofHeader = ''] = Buffer.from(basic, 'base64').toString().split(':');
  const sent = request?.form.get('client_secret') ?? decodeURIComponent(ofHeader.replaceAll('+', ' '));
  return sent === value;
};

test('pods that are replaced know the login', { skip }, async () => {
  const before = loginsAt(providers.hub);
  const deployment = 'deployment/vmcp-gateway';
  await node.kubectl(['rollout', 'restart', deployment]);
  await node.kubectl(['rollout', 'status', deployment, '--timeout=240s']);
  assert.equal(
    await until(
      'an answer',
      async () => ownerAt(providers.hub, await seenBy('hub_whoami')).catch(() => undefined),
      PATIENT,
    ),
    'alice',
  );
  assert.equal(loginsAt(providers.hub), before);
});

/** A person signs in at this door, for the first time, and calls a tool. */
const calledThrough = async (t: TestContext, door: keyof typeof doors): Promise<string> => {
  const browser = personAt(await chromium.open({ ignoreHTTPSErrors: true }));
  const caller = await withSdkV1('Streamable HTTP')({ url: `${doors[door].origin}/mcp`, home, browser });
  t.after(() => caller.close());
  return seenBy('whoami', caller);
};

test('an MCPServer with authServerRef gives its container the token of its one provider', { skip }, async (t) => {
  // What is in the container passes on what it gets, and so this test sees it.
  const args = { args: passingOnTo(backend.url) };
  await callers.apply(
    ...(await example('sign-in-server/server.yaml')).map((each) => withSpec(each, 'MCPServer', args)),
    ...signInProxy(),
  );
  await untilReady('mcpserver/notes');
  await leadTo('server', 'mcpserver-notes');
  assert.equal(await ownerAt(providers.corporate, await calledThrough(t, 'server')), 'alice');
});

const signInProxy = (): readonly object[] => {
  const { origin } = doors.proxy;
  const clientSecretRef = { name: 'sign-in-providers', key: 'corporate' };
  const oidcConfig = { issuerUrl: providers.corporate.issuer, clientId: 'vmcp', clientSecretRef };
  return [
    ownIssuer('proxy', origin),
    resource('MCPExternalAuthConfig', 'proxy', {
      type: 'embeddedAuthServer',
      embeddedAuthServer: { issuer: origin, upstreamProviders: [{ name: 'corporate', type: 'oidc', oidcConfig }] },
    }),
    resource('MCPRemoteProxy', 'search', {
      remoteUrl: backend.url,
      replicas: 1,
      oidcConfigRef: { name: 'proxy', audience: `${origin}/mcp`, resourceUrl: `${origin}/mcp` },
      authServerRef: { kind: 'MCPExternalAuthConfig', name: 'proxy' },
    }),
  ];
};

test('an MCPRemoteProxy with authServerRef sends it without being asked for, too', { skip }, async (t) => {
  await untilReady('mcpremoteproxy/search');
  await leadTo('proxy', 'mcpremoteproxy-search');
  assert.equal(await ownerAt(providers.corporate, await calledThrough(t, 'proxy')), 'alice');
});
