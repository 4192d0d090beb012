/** Kind, name and spec of an object of ours; `{}` for one whose content is its own (a Secret, a ConfigMap). */
export type Made = readonly [kind: string, name: string, spec: object];

/** An object that refers to others: what it names, and what status says while these are missing and when they are there. */
export interface Row {
  readonly referrer: Made;
  /** Everything of one kind that it names, as first made and as changed. */
  readonly targets: readonly Target[];
  /** Beginning of the condition `…Resolved` and of its reasons. */
  readonly subject: string;
  /** While a target is missing that was never there; after it was there and was deleted. */
  readonly phases: { readonly missing?: string; readonly found?: string; readonly deleted?: string };
  /** The server whose pods are told of the targets; absent where only status tells. */
  readonly server?: string;
  /** What its pods are told after a target was deleted: what they were told before, or no more of the backend. */
  readonly afterwards?: 'kept' | 'withheld';
}

export interface Target {
  readonly made: Made;
  readonly changed: object;
}

const group = { groupRef: { name: 'tools' } };
const anonymous = { ...group, incomingAuth: { type: 'anonymous' } };
const remote = { ...group, remoteUrl: 'https://tools.example.com/mcp', transport: 'streamable-http' };
const served = { missing: 'Pending', found: 'Ready', deleted: 'Degraded' };
const secret = (name: string): Target => ({ made: ['Secret', name, { key: 'one' }], changed: { key: 'two' } });
const configMap = (name: string, key: string, one: string, two: string): Target => ({
  made: ['ConfigMap', name, { [key]: one }],
  changed: { [key]: two },
});
const key = (name: string) => ({ name, key: 'key' });
const ca = (name: string) => ({ caBundleRef: { configMapRef: { name, key: 'ca.crt' } } });
const authority = (name: string) => configMap(name, 'ca.crt', 'one', 'two');
const policy = (effect: string): string =>
  JSON.stringify({
    version: '1.0',
    type: 'cedarv1',
    cedar: { policies: [`${effect}(principal, action, resource);`] },
  });
const issuer = (host: string) => ({ type: 'inline', inline: { issuer: `https://${host}.example.com` } });
const workflow = (tool: string) => ({ name: 'flow', steps: [{ id: 'a', type: 'tool', tool }] });

const gateway = (name: string, spec: object, target: Target, subject: string): Row => ({
  referrer: ['VirtualMCPServer', name, { ...anonymous, ...spec }],
  targets: [target],
  subject,
  phases: served,
  server: name,
  afterwards: 'kept',
});

const oidc = (more: object) => ({ type: 'oidc', oidcConfigRef: { name: 'shared-oidc', audience: 'a' }, ...more });

const ofServers: readonly Row[] = [
  gateway('by-group', { groupRef: { name: 'own' } }, { made: ['MCPGroup', 'own', {}], changed: {} }, 'Group'),
  gateway(
    'by-oidc',
    { incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'oidc', audience: 'a' } } },
    { made: ['MCPOIDCConfig', 'oidc', issuer('one')], changed: issuer('two') },
    'OIDCConfig',
  ),
  gateway(
    'by-policies',
    { incomingAuth: oidc({ authzConfig: { type: 'configMap', configMap: { name: 'policies' } } }) },
    configMap('policies', 'authz.json', policy('permit'), policy('forbid')),
    'ConfigMap',
  ),
  gateway(
    'by-telemetry',
    { telemetryConfigRef: { name: 'telemetry' } },
    {
      made: ['MCPTelemetryConfig', 'telemetry', { prometheus: { enabled: true } }],
      changed: { prometheus: { enabled: false } },
    },
    'TelemetryConfig',
  ),
  gateway(
    'by-tools',
    { config: { aggregation: { tools: [{ workload: 'a', toolConfigRef: { name: 'filter' } }] } } },
    { made: ['MCPToolConfig', 'filter', { toolsFilter: ['one'] }], changed: { toolsFilter: ['two'] } },
    'ToolConfig',
  ),
  gateway(
    'by-workflow',
    { config: { compositeToolRefs: [{ name: 'flow' }] } },
    { made: ['VirtualMCPCompositeToolDefinition', 'flow', workflow('x.y')], changed: workflow('x.z') },
    'CompositeTool',
  ),
];

/** One backend is missed, and its server goes on. */
const partly = { missing: 'Degraded', found: 'Ready', deleted: 'Degraded' };
const outgoing = (rule: object) => ({ groupRef: { name: 'manned' }, outgoingAuth: rule });
const byConfig = (name: string) => ({ type: 'externalAuthConfigRef', externalAuthConfigRef: { name } });
const header = (headerName: string) => ({
  type: 'headerInjection',
  headerInjection: { headerName, valueSecretRef: key('header-value') },
});
const authConfig = (name: string): Target => ({
  made: ['MCPExternalAuthConfig', name, header('X-One')],
  changed: header('X-Two'),
});

const ofBackends: readonly Row[] = [
  {
    ...gateway(
      'by-default',
      outgoing({ default: byConfig('by-default') }),
      authConfig('by-default'),
      'ExternalAuthConfig',
    ),
    phases: partly,
    afterwards: 'withheld',
  },
  {
    ...gateway(
      'by-backend',
      outgoing({ backends: { tool: byConfig('by-backend') } }),
      authConfig('by-backend'),
      'ExternalAuthConfig',
    ),
    phases: partly,
    afterwards: 'withheld',
  },
];

const authServer = (name: string) => ({
  issuer: 'https://shared.example.com',
  signingKeySecretRefs: [key(`${name}-signing`)],
  hmacSecretRefs: [key(`${name}-hmac`)],
  storage: {
    type: 'kvstore',
    kvstore: {
      aclUserConfig: { usernameSecretRef: key(`${name}-user`), passwordSecretRef: key(`${name}-password`) },
      tls: { caCertSecretRef: key(`${name}-ca`) },
      sentinelTls: { caCertSecretRef: key(`${name}-sentinel-ca`) },
      sentinelConfig: { masterName: 'main', sentinelService: { name: 'sentinel' } },
    },
  },
  upstreamProviders: [
    {
      name: 'corp',
      type: 'oidc',
      oidcConfig: { issuerUrl: 'https://corp.example.com', clientId: 'a', clientSecretRef: key(`${name}-oidc`) },
    },
    {
      name: 'code',
      type: 'oauth2',
      oauth2Config: {
        authorizationEndpoint: 'https://code.example.com/authorize',
        tokenEndpoint: 'https://code.example.com/token',
        clientId: 'a',
        clientSecretRef: key(`${name}-oauth2`),
      },
    },
    {
      name: 'dynamic',
      type: 'oauth2',
      oauth2Config: {
        dcrConfig: { discoveryUrl: 'https://dynamic.example.com/meta', initialAccessTokenRef: key(`${name}-dcr`) },
      },
    },
  ],
});
const secretsOf = (name: string): readonly Target[] =>
  ['signing', 'hmac', 'user', 'password', 'ca', 'sentinel-ca', 'oidc', 'oauth2', 'dcr'].map((purpose) =>
    secret(`${name}-${purpose}`),
  );

/** Values of Secrets reach the pods through the kubelet, and nobody waits for them (decisions "Config in the cluster"). */
const told = { subject: 'Secret', phases: {} };

const ofSecrets: readonly Row[] = [
  {
    ...told,
    referrer: [
      'VirtualMCPServer',
      'by-session-password',
      {
        ...anonymous,
        sessionStorage: { provider: 'kvstore', address: 'redis:6379', passwordRef: key('session-password') },
      },
    ],
    targets: [secret('session-password')],
    phases: { missing: 'Ready', found: 'Ready', deleted: 'Ready' },
    server: 'by-session-password',
    afterwards: 'kept',
  },
  {
    ...told,
    referrer: [
      'VirtualMCPServer',
      'by-auth-server',
      { ...anonymous, incomingAuth: oidc({}), authServerConfig: authServer('server') },
    ],
    targets: secretsOf('server'),
    phases: { missing: 'Ready', found: 'Ready', deleted: 'Ready' },
    server: 'by-auth-server',
    afterwards: 'kept',
  },
];

const config = (name: string, spec: object, target: Target | readonly Target[], subject = 'Secret'): Row => ({
  referrer: ['MCPExternalAuthConfig', name, spec],
  targets: [target].flat(),
  subject,
  phases: {},
});

const ofConfigs: readonly Row[] = [
  config(
    'exchange',
    {
      type: 'tokenExchange',
      tokenExchange: {
        tokenUrl: 'https://sts.example.com/token',
        audience: 'a',
        clientId: 'a',
        clientSecretRef: key('exchange'),
      },
    },
    secret('exchange'),
  ),
  config(
    'header',
    { type: 'headerInjection', headerInjection: { headerName: 'X-A', valueSecretRef: key('header') } },
    secret('header'),
  ),
  config('bearer', { type: 'bearerToken', bearerToken: { tokenSecretRef: key('bearer') } }, secret('bearer')),
  config('login', { type: 'embeddedAuthServer', embeddedAuthServer: authServer('login') }, secretsOf('login')),
  ...(['Secret', 'ConfigMap'] as const).flatMap((subject): Row[] => [
    {
      referrer: [
        'MCPOIDCConfig',
        'issuer',
        {
          type: 'inline',
          inline: {
            issuer: 'https://a.example.com',
            clientId: 'a',
            clientSecretRef: key('issuer'),
            ...ca('issuer-ca'),
          },
        },
      ],
      targets: [subject === 'Secret' ? secret('issuer') : authority('issuer-ca')],
      subject,
      phases: {},
    },
    {
      referrer: [
        'MCPTelemetryConfig',
        'collector',
        {
          openTelemetry: {
            enabled: true,
            endpoint: 'https://collector.example.com',
            tracing: { enabled: true },
            sensitiveHeaders: [{ name: 'authorization', secretKeyRef: key('collector') }],
            ...ca('collector-ca'),
          },
        },
      ],
      targets: [subject === 'Secret' ? secret('collector') : authority('collector-ca')],
      subject,
      phases: {},
    },
  ]),
];

const entry: Made = [
  'MCPServerEntry',
  'entry',
  {
    ...remote,
    groupRef: { name: 'entries' },
    externalAuthConfigRef: { name: 'entry' },
    headerForward: { addHeadersFromSecret: [{ headerName: 'X-A', valueSecretRef: key('entry') }] },
    ...ca('entry-ca'),
  },
];

const grouped: Made = ['MCPServerEntry', 'grouped', { ...remote, groupRef: { name: 'grouped' } }];

/** Its server is there from the beginning, over the group `entries`. */
const ofEntries: readonly Row[] = [
  {
    referrer: entry,
    targets: [authConfig('entry')],
    subject: 'ExternalAuthConfig',
    server: 'over-entries',
    afterwards: 'withheld',
  },
  { referrer: entry, targets: [secret('entry')], subject: 'Secret' },
  { referrer: entry, targets: [authority('entry-ca')], subject: 'ConfigMap' },
  { referrer: grouped, targets: [{ made: ['MCPGroup', 'grouped', {}], changed: {} }], subject: 'Group' },
].map((row) => ({ phases: {}, ...row }) as Row);

/** Kinds with pods of their own. */
const workload = (referrer: Made, subject: string, ...targets: readonly Target[]): Row => ({
  referrer,
  targets,
  subject,
  phases: {},
});

const container: Made = [
  'MCPServer',
  'container',
  { image: 'a', transport: 'streamable-http', groupRef: { name: 'containers' }, secrets: [key('container')] },
];
const fronted: Made = [
  'MCPServer',
  'fronted',
  {
    image: 'a',
    transport: 'streamable-http',
    externalAuthConfigRef: { name: 'fronted' },
    oidcConfigRef: { name: 'fronted', audience: 'a' },
    authzConfig: { type: 'configMap', configMap: { name: 'fronted-policies' } },
    authServerRef: { name: 'fronted-login' },
    sessionStorage: { provider: 'kvstore', address: 'redis:6379', passwordRef: key('fronted') },
  },
];

const ofWorkloads: readonly Row[] = [
  workload(container, 'Group', { made: ['MCPGroup', 'containers', {}], changed: {} }),
  workload(container, 'Secret', secret('container')),
  workload(fronted, 'ExternalAuthConfig', authConfig('fronted'), authConfig('fronted-login')),
  workload(fronted, 'OIDCConfig', { made: ['MCPOIDCConfig', 'fronted', issuer('one')], changed: issuer('two') }),
  workload(fronted, 'ConfigMap', configMap('fronted-policies', 'authz.json', policy('permit'), policy('forbid'))),
  workload(fronted, 'Secret', secret('fronted')),
  workload(['EmbeddingServer', 'embedder', { hfTokenSecretRef: key('embedder') }], 'Secret', secret('embedder')),
];

/** Its pods have to be ready before the server has any. */
const ofOptimizer: readonly Row[] = [
  gateway(
    'by-embedding',
    { embeddingServerRef: { name: 'vectors' }, config: { optimizer: {} } },
    { made: ['EmbeddingServer', 'vectors', { model: 'one' }], changed: { model: 'two' } },
    'EmbeddingServer',
  ),
];

export const ROWS: readonly Row[] = [
  ...ofServers,
  ...ofBackends,
  ...ofSecrets,
  ...ofConfigs,
  ...ofEntries,
  ...ofWorkloads,
  ...ofOptimizer,
];

/** Backends that the pods of a server know. */
export const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  'by-default': ['tool'],
  'by-backend': ['tool'],
  'over-entries': ['entry'],
};

/** What is there from the beginning. */
export const WORLD: readonly Made[] = [
  ['MCPGroup', 'tools', {}],
  ['MCPGroup', 'manned', {}],
  ['MCPGroup', 'entries', {}],
  ['MCPServerEntry', 'tool', { ...remote, groupRef: { name: 'manned' } }],
  ['MCPOIDCConfig', 'shared-oidc', issuer('shared')],
  ['VirtualMCPServer', 'over-entries', { ...anonymous, groupRef: { name: 'entries' } }],
];
