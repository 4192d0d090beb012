import {
  type Made,
  type Row,
  type Target,
  authConfig,
  authServer,
  authority,
  ca,
  configMap,
  issuer,
  key,
  policy,
  remote,
  secret,
  secretsOf,
} from './row.ts';

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

export const OTHERS: readonly Row[] = [...ofConfigs, ...ofEntries, ...ofWorkloads];
