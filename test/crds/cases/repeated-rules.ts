import { kinds } from '../../../crds/index.ts';
import type { Case } from '../case.ts';
import { casesOf } from '../case.ts';

/** Rules that hold in several places, tried in each of them. */

type Fields = Readonly<Record<string, unknown>>;

const server = casesOf('VirtualMCPServer');

const nameCases = Object.values(kinds).flatMap(({ kind, nameMaxLength }) => [
  casesOf(kind).accepts({ name: 'a'.repeat(nameMaxLength) }),
  casesOf(kind).refuses({ name: 'a'.repeat(nameMaxLength + 1) }, 'metadata.name', `use at most ${nameMaxLength}`),
]);

const oidcConfigRef = { name: 'login', audience: 'server' };

const authzPlaces = [
  ['VirtualMCPServer', 'incomingAuth.authzConfig', {}],
  ['MCPServer', 'authzConfig', { oidcConfigRef }],
  ['MCPRemoteProxy', 'authzConfig', { oidcConfigRef }],
] as const;

const configMap = { name: 'policies' };
const inline = { policies: [] };

const authzPlaceCases = authzPlaces.flatMap(([kind, path, beside]) => {
  const { accepts, refuses } = casesOf(kind);
  const set = (value: unknown) => ({ set: { ...beside, [path]: value } });
  return [
    accepts(set({ configMap })),
    accepts(set({ type: 'inline', inline })),
    refuses(set({}), `spec.${path}`, 'type configMap needs configMap'),
    refuses(set({ type: 'inline' }), `spec.${path}`, 'type inline needs inline'),
    refuses(set({ type: 'inline', inline, configMap }), `spec.${path}.configMap`, 'allowed only with type configMap'),
    refuses(set({ configMap, inline }), `spec.${path}.inline`, 'allowed only with type inline'),
  ];
});

const callerCases = ['MCPServer', 'MCPRemoteProxy'].flatMap((kind) => {
  const { accepts, refuses } = casesOf(kind);
  const authzConfig = { type: 'inline', inline };
  const authServerRef = { name: 'issuer' };
  return [
    refuses({ set: { authzConfig } }, 'spec.authzConfig', 'set oidcConfigRef'),
    refuses({ set: { authServerRef } }, 'spec.authServerRef', 'set oidcConfigRef'),
    accepts({ set: { authzConfig, authServerRef, oidcConfigRef } }, { 'authServerRef.kind': 'MCPExternalAuthConfig' }),
  ];
});

const storeCases = ['VirtualMCPServer', 'MCPServer', 'MCPRemoteProxy'].flatMap((kind) => [
  casesOf(kind).accepts({ set: { sessionStorage: { provider: 'kvstore', address: 'valkey:6379' } } }),
  casesOf(kind).refuses({ set: { sessionStorage: { provider: 'kvstore' } } }, 'spec.sessionStorage', 'needs address'),
  ...['valkey', '[::1]:6379', '::1', 'valkey:65535'].map((address) =>
    casesOf(kind).accepts({ set: { sessionStorage: { provider: 'kvstore', address } } }),
  ),
  ...['redis://valkey', 'valkey:6379:77', 'valkey:99999'].map((address) =>
    casesOf(kind).refuses(
      { set: { sessionStorage: { provider: 'kvstore', address } } },
      'spec.sessionStorage.address',
      'not a host, maybe with a port',
    ),
  ),
]);

const oidcCases = [
  casesOf('MCPOIDCConfig').refuses(
    { set: { type: 'clusterServiceAccount' } },
    'spec.inline',
    'allowed only with type inline',
  ),
  casesOf('MCPOIDCConfig').refuses(
    { set: { '': { type: 'clusterServiceAccount' } } },
    'spec',
    'needs clusterServiceAccount',
  ),
];

const workflowPlaces = [
  {
    kind: 'VirtualMCPServer',
    at: 'config.compositeTools[0].',
    around: (steps: unknown) => ({ 'config.compositeTools': [{ name: 'report', steps }] }),
  },
  { kind: 'VirtualMCPCompositeToolDefinition', at: '', around: (steps: unknown) => ({ steps }) },
] as const;

const call = { id: 'a', tool: 'github.search' };
const question = { id: 'a', type: 'elicitation', message: 'Go on?' };
const loop = { id: 'a', type: 'forEach', collection: '{{ .params.items }}', step: { tool: 'github.search' } };
const retry = { action: 'retry', retryCount: 2 };

const workflowPlaceCases = workflowPlaces.flatMap(({ kind, at, around }) => {
  const { accepts, refuses } = casesOf(kind);
  const step = `spec.${at}steps[0]`;
  const refusesStep = (value: Fields, where: string, words: string): Case =>
    refuses({ set: around([value]) }, where, words);
  return [
    ...[call, question, loop, { ...call, onError: retry }, { ...loop, step: { tool: 'a.b', onError: retry } }].map(
      (value) => accepts({ set: around([value]) }),
    ),
    refusesStep({ id: 'a' }, step, 'type tool needs tool'),
    refusesStep({ ...question, message: undefined }, step, 'type elicitation needs message'),
    refusesStep({ ...loop, collection: undefined }, step, 'type forEach needs collection'),
    refusesStep({ ...loop, step: undefined }, step, 'type forEach needs step'),
    refusesStep({ ...call, onError: { action: 'retry' } }, `${step}.onError`, 'action retry needs retryCount'),
    refusesStep({ ...loop, step: {} }, `${step}.step`, 'type tool needs tool'),
    refusesStep(
      { ...loop, step: { tool: 'a.b', onError: { action: 'retry' } } },
      `${step}.step.onError`,
      'needs retryCount',
    ),
  ];
});

const strategyPlaces = [
  { at: 'default', around: (value: unknown) => ({ 'config.outgoingAuth': { source: 'inline', default: value } }) },
  {
    at: 'backends.github',
    around: (value: unknown) => ({ 'config.outgoingAuth': { source: 'inline', backends: { github: value } } }),
  },
] as const;

const role = 'arn:aws:iam::123456789012:role/tools';
const blocks = {
  header_injection: ['headerInjection', { headerName: 'X-Key', headerValueEnv: 'KEY' }],
  token_exchange: [
    'tokenExchange',
    { tokenUrl: 'https://sts.example.com/token', clientId: 'gateway', clientSecretEnv: 'SECRET' },
  ],
  upstream_inject: ['upstreamInject', { providerName: 'idp' }],
  cloud_sts: ['cloudSts', { region: 'us-east-1', roleMappings: [{ roleArn: role, claim: 'admins' }] }],
} as const;

const strategyPlaceCases = strategyPlaces.flatMap(({ at, around }) => {
  const path = `spec.config.outgoingAuth.${at}`;
  const changed = (type: keyof typeof blocks, changes: Fields): Fields =>
    around({ type, [blocks[type][0]]: { ...blocks[type][1], ...changes } });
  return [
    ...Object.entries(blocks).flatMap(([type, [key, block]]) => [
      server.accepts({ set: around({ type, [key]: block }) }),
      server.refuses({ set: around({ type }) }, path, `type ${type} needs ${key}`),
      server.refuses(
        { set: around({ type: 'unauthenticated', [key]: block }) },
        `${path}.${key}`,
        `allowed only with type ${type}`,
      ),
    ]),
    server.refuses(
      { set: changed('header_injection', { headerValue: 'a' }) },
      `${path}.headerInjection`,
      'exactly one of headerValue and headerValueEnv',
    ),
    server.accepts({ set: changed('header_injection', { headerValue: 'a', headerValueEnv: undefined }) }),
    server.refuses(
      { set: changed('token_exchange', { clientSecret: 'a' }) },
      `${path}.tokenExchange`,
      'clientSecret and clientSecretEnv exclude each other',
    ),
    server.refuses(
      { set: changed('token_exchange', { clientId: undefined }) },
      `${path}.tokenExchange`,
      'a client secret without clientId authenticates no client',
    ),
    server.refuses(
      { set: changed('token_exchange', { clientSecret: 'a' }) },
      `${path}.tokenExchange.clientSecret`,
      'would put a secret into the resource',
    ),
    server.refuses(
      { set: changed('cloud_sts', { roleMappings: undefined }) },
      `${path}.cloudSts`,
      'at least one of fallbackRoleArn and roleMappings',
    ),
    server.refuses(
      { set: changed('cloud_sts', { roleMappings: [{ roleArn: role }] }) },
      `${path}.cloudSts.roleMappings[0]`,
      'exactly one of claim and matcher',
    ),
  ];
});

const viaRef = { type: 'externalAuthConfigRef', externalAuthConfigRef: { name: 'token' } };
const BACKEND = 'spec.outgoingAuth.backends.github';

const outgoingPlaceCases = [
  server.refuses(
    { set: { 'outgoingAuth.backends': { github: { type: 'externalAuthConfigRef' } } } },
    BACKEND,
    'needs externalAuthConfigRef',
  ),
  server.refuses(
    { set: { 'outgoingAuth.backends': { github: { ...viaRef, type: 'discovered' } } } },
    `${BACKEND}.externalAuthConfigRef`,
    'allowed only with type externalAuthConfigRef',
  ),
  server.accepts({ set: { 'config.incomingAuth': { type: 'anonymous', authz: { type: 'cedar', policies: [] } } } }),
  server.refuses(
    { set: { 'config.incomingAuth': { type: 'anonymous', authz: { type: 'cedar' } } } },
    'spec.config.incomingAuth.authz',
    'type cedar needs policies',
  ),
];

export const repeatedRuleCases: readonly Case[] = [
  ...nameCases,
  ...authzPlaceCases,
  ...callerCases,
  ...storeCases,
  ...oidcCases,
  ...workflowPlaceCases,
  ...strategyPlaceCases,
  ...outgoingPlaceCases,
];
