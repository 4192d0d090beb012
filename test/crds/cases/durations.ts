import { casesOf } from '../case.ts';

const { accepts, refuses } = casesOf('VirtualMCPServer');
const timeout = (value: unknown) => ({ 'config.operational.timeouts': { default: value } });

/** Text → milliseconds it means, and the rule that says so. */
export const durationMeanings = [
  ['crd.duration.single-group', '30s', 30_000],
  ['crd.duration.multi-group', '1m30s', 90_000],
  ['crd.duration.decimal', '1.5s', 1500],
  ['crd.duration.unit-ns', '500000000ns', 500],
  ['crd.duration.unit-us', '500000us', 500],
  ['crd.duration.unit-micro-sign', '500000µs', 500],
  ['crd.duration.unit-ms', '500ms', 500],
  ['crd.duration.unit-s', '2s', 2000],
  ['crd.duration.unit-m', '2m', 120_000],
  ['crd.duration.unit-h', '2h', 7_200_000],
] as const;

const notDurations = [
  ['crd.duration.reject-bare-number', '30'],
  ['crd.duration.reject-empty', ''],
  ['crd.duration.reject-unknown-unit', '1d'],
  ['crd.duration.reject-other-text', '-5s'],
  ['crd.duration.reject-other-text', '5 s'],
  ['crd.duration.reject-other-text', '5sx'],
] as const;

export const durationCases = [
  ...durationMeanings.map(([of, text]) =>
    accepts({ of, set: timeout(text) }, { 'config.operational.timeouts.default': text }),
  ),
  ...notDurations.map(([of, text]) =>
    refuses({ of, set: timeout(text) }, 'spec.config.operational.timeouts.default', 'should match'),
  ),
  refuses(
    { of: 'crd.duration.reject-bare-number', set: timeout(30) },
    'spec.config.operational.timeouts.default',
    'must be of type string',
  ),
  refuses(
    { of: 'crd.duration.all-fields', set: { 'config.operational.timeouts': { perWorkload: { github: '30' } } } },
    'spec.config.operational.timeouts.perWorkload.github',
    'should match',
  ),
];

const bucket = (refillPeriod: string) => ({ maxTokens: 1, refillPeriod });
const oidc = { type: 'oidc', oidcConfigRef: { name: 'login', audience: 'tools' } };
const limits = (text: string) => ({
  shared: bucket(text),
  perUser: bucket(text),
  tools: [{ name: 'a', shared: bucket(text), perUser: bucket(text) }],
});
const operational = (text: string) => ({
  timeouts: { default: text, perWorkload: { github: text } },
  failureHandling: { healthCheckInterval: text, healthCheckTimeout: text, statusReportingInterval: text },
});
const secret = { name: 'a', key: 'b' };
const authServer = (text: string) => ({
  issuer: 'https://auth.example.com',
  tokenLifespans: { accessTokenLifespan: text, refreshTokenLifespan: text, authCodeLifespan: text },
  storage: {
    type: 'kvstore',
    kvstore: {
      aclUserConfig: { passwordSecretRef: secret },
      addr: 'a:1',
      dialTimeout: text,
      readTimeout: text,
      writeTimeout: text,
    },
  },
  upstreamProviders: [
    { name: 'idp', type: 'oidc', oidcConfig: { issuerUrl: 'https://idp.example.com', clientId: 'a' } },
  ],
});

/** Every duration that must be more than zero, set at once. */
const everywhere = [
  [
    'VirtualMCPServer',
    (text: string) => ({
      incomingAuth: oidc,
      authServerConfig: authServer(text),
      embeddingServerRef: { name: 'vectors' },
      config: {
        operational: operational(text),
        rateLimiting: limits(text),
        optimizer: { embeddingServiceTimeout: text },
      },
    }),
    [
      'authServerConfig.tokenLifespans.accessTokenLifespan',
      'authServerConfig.tokenLifespans.refreshTokenLifespan',
      'authServerConfig.tokenLifespans.authCodeLifespan',
      'authServerConfig.storage.kvstore.dialTimeout',
      'authServerConfig.storage.kvstore.readTimeout',
      'authServerConfig.storage.kvstore.writeTimeout',
      'config.operational.timeouts.default',
      'config.operational.timeouts.perWorkload.github',
      'config.operational.failureHandling.healthCheckInterval',
      'config.operational.failureHandling.healthCheckTimeout',
      'config.operational.failureHandling.statusReportingInterval',
      'config.optimizer.embeddingServiceTimeout',
      'config.rateLimiting.shared.refillPeriod',
      'config.rateLimiting.perUser.refillPeriod',
      'config.rateLimiting.tools[0].shared.refillPeriod',
      'config.rateLimiting.tools[0].perUser.refillPeriod',
    ],
  ],
  [
    'MCPServer',
    (text: string) => ({ oidcConfigRef: oidc.oidcConfigRef, rateLimiting: limits(text) }),
    [
      'rateLimiting.shared.refillPeriod',
      'rateLimiting.perUser.refillPeriod',
      'rateLimiting.tools[0].shared.refillPeriod',
      'rateLimiting.tools[0].perUser.refillPeriod',
    ],
  ],
  [
    'MCPExternalAuthConfig',
    (text: string) => ({ type: 'embeddedAuthServer', embeddedAuthServer: authServer(text) }),
    [
      'embeddedAuthServer.tokenLifespans.accessTokenLifespan',
      'embeddedAuthServer.tokenLifespans.refreshTokenLifespan',
      'embeddedAuthServer.tokenLifespans.authCodeLifespan',
      'embeddedAuthServer.storage.kvstore.dialTimeout',
      'embeddedAuthServer.storage.kvstore.readTimeout',
      'embeddedAuthServer.storage.kvstore.writeTimeout',
    ],
  ],
] as const;

export const positiveDurationCases = everywhere.flatMap(([kind, set, paths]) => [
  casesOf(kind).accepts({ set: set('1ms') }),
  ...paths.map((path) => casesOf(kind).refuses({ set: set('0s') }, `spec.${path}`, 'must be more than zero')),
]);

/** Limits whose buckets a store keeps for as long as it keeps anything. */
export const longestPeriodCases = everywhere.flatMap(([kind, , paths]) => {
  const { accepts: passes, refuses: fails } = casesOf(kind);
  const limited = paths.filter((path) => path.endsWith('.refillPeriod'));
  const set = (text: string) =>
    kind === 'MCPServer'
      ? { oidcConfigRef: oidc.oidcConfigRef, rateLimiting: limits(text) }
      : { incomingAuth: oidc, 'config.rateLimiting': limits(text) };
  if (limited.length === 0) return [];
  return [
    passes({ set: set('4320h') }),
    ...limited.map((path) => fails({ set: set('4320h1ms') }, `spec.${path}`, 'must be at most 4320h')),
  ];
});
