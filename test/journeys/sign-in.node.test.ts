import assert from 'node:assert/strict';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Agent, fetch as fetchWith } from 'undici';
import { parseAllDocuments } from 'yaml';
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

/**
 * A person with a browser, from `kubectl apply` of the example to a tool that is called with the token of their
 * provider; each test needs the ones before it.
 */
const root = join(import.meta.dirname, '..', '..');
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
/** Where browsers and clients find the Service of the gateway, and that of the proxy. */
let doors: Readonly<Record<'gateway' | 'proxy', Doorway>>;
let home: string;
let client: SignedIn;

const secret = (name: string, values: Readonly<Record<string, string | Buffer>>): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  data: Object.fromEntries(Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString('base64')])),
});

const newSigningKey = (): string =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

/** In use now, and before. */
const keys = {
  signing: [newSigningKey(), newSigningKey()] as [string, string],
  hmac: [randomBytes(48), randomBytes(48)] as [Buffer, Buffer],
};
const keySecret = (): object =>
  secret('sign-in-keys', {
    'signing-current': keys.signing[0],
    'signing-previous': keys.signing[1],
    'hmac-current': keys.hmac[0],
    'hmac-previous': keys.hmac[1],
  });

/** The authority of the test signs for the providers. */
const TRUSTING = {
  podTemplateSpec: {
    spec: {
      containers: [
        {
          name: 'vmcp',
          env: [{ name: 'NODE_EXTRA_CA_CERTS', value: '/authorities/ca.pem' }],
          volumeMounts: [{ name: 'authorities', mountPath: '/authorities' }],
        },
      ],
      volumes: [{ name: 'authorities', configMap: { name: 'authorities' } }],
    },
  },
};

interface Resource {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

/** The example, with the addresses of the test. */
const example = async (): Promise<readonly object[]> => {
  const text = await readFile(join(root, 'examples', 'sign-in', 'gateway.yaml'), 'utf8');
  const written = text
    .replaceAll('https://mcp.example.com', doors.gateway.origin)
    .replaceAll('https://login.example.com', providers.corporate.issuer)
    .replaceAll('https://hub.example.com', providers.hub.issuer)
    .replaceAll('https://mcp.hub.example.com/mcp', backend.url)
    .replaceAll('redis:6379', `${node.hostAddress}:${redis.address.split(':')[1]}`);
  const all = parseAllDocuments(written).map((document) => {
    const each = document.toJS() as Resource;
    if (each.kind === 'VirtualMCPServer') return { ...each, spec: { ...each.spec, ...TRUSTING } };
    return each.kind === 'MCPOIDCConfig' ? ownIssuer(each.metadata.name, doors.gateway) : each;
  });
  // The server last: a user who signs in before its backend is there has not agreed that the backend gets a token.
  return all.toSorted((a, b) => Number(isServer(a)) - Number(isServer(b)));
};

const isServer = (each: object): boolean => 'kind' in each && each.kind === 'VirtualMCPServer';

/** On localhost an issuer need not have TLS. */
const ownIssuer = (name: string, { origin }: Doorway): object =>
  resource('MCPOIDCConfig', name, { type: 'inline', inline: { issuer: origin, insecureAllowHTTP: true } });

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
  doors = { gateway: await openDoorway(await freePortPair()), proxy: await openDoorway(await freePortPair()) };
  providers = { corporate: await startProvider('corporate'), hub: await startProvider('hub') };
  chromium = await startChromium();
  await installChart(node);
  await callers.apply(
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'authorities' },
      data: { 'ca.pem': await readFile(certificates.caFile, 'utf8') },
    },
    keySecret(),
    secret('sign-in-providers', CLIENT_SECRETS),
    secret('redis', { password: PASSWORD }),
    ...(await example()),
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
  await callers.apply(keySecret(), secret('sign-in-providers', { ...CLIENT_SECRETS, hub: 'another' }));
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

test(
  'an MCPRemoteProxy with authServerRef sends the token of its one provider without being asked for',
  { skip },
  async (t) => {
    const { origin } = doors.proxy;
    await callers.apply(
      ownIssuer('proxy', doors.proxy),
      resource('MCPExternalAuthConfig', 'sign-in', {
        type: 'embeddedAuthServer',
        embeddedAuthServer: {
          issuer: origin,
          upstreamProviders: [
            {
              name: 'corporate',
              type: 'oidc',
              oidcConfig: {
                issuerUrl: providers.corporate.issuer,
                clientId: 'vmcp',
                clientSecretRef: { name: 'sign-in-providers', key: 'corporate' },
              },
            },
          ],
        },
      }),
      resource('MCPRemoteProxy', 'search', {
        remoteUrl: backend.url,
        replicas: 1,
        oidcConfigRef: { name: 'proxy', audience: `${origin}/mcp`, resourceUrl: `${origin}/mcp` },
        authServerRef: { kind: 'MCPExternalAuthConfig', name: 'sign-in' },
        ...TRUSTING,
      }),
    );
    await untilReady('mcpremoteproxy/search');
    await leadTo('proxy', 'mcpremoteproxy-search');
    const browser = personAt(await chromium.open({ ignoreHTTPSErrors: true }));
    const caller = await withSdkV1('Streamable HTTP')({ url: `${origin}/mcp`, home, browser });
    t.after(() => caller.close());
    assert.equal(await ownerAt(providers.corporate, await seenBy('whoami', caller)), 'alice');
  },
);
