import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import type { KubeObject } from '../../../../operator/object.ts';
import { type Contract, newContract } from '../../../../operator/plan/contract.ts';
import { planRemoteProxy } from '../../../../operator/plan/front/plan-remote-proxy.ts';
import type { Plan } from '../../../../operator/plan/plan.ts';
import type { PodReports } from '../../../../operator/plan/server/bundle.ts';
import { planServer } from '../../../../operator/plan/server/plan-server.ts';
import { resolveServed, resolveServer } from '../../../../operator/read/resolve.ts';
import { objectsSource } from '../../../../operator/read/source.ts';
import type { BackendStatus } from '../../../../runtime/status/report.ts';
import { covers } from '../../../requirements.ts';
import { authServer } from '../../validate/cases.ts';
import { DEFAULT_SETTINGS, everythingBuilt } from '../golden.ts';
import { made } from '../made.ts';
import { SERVER_KEY, condition, group, planned, report, server, statusOf } from '../plan-of-demo.ts';

const UID = '5b1de1a0-6f0e-4c7e-9a39-2f1f6f8b9c01';
const KEY = { kind: 'MCPRemoteProxy', namespace: 'default', name: 'search' };

const proxy = (spec: object = {}): KubeObject =>
  made(
    'MCPRemoteProxy',
    'search',
    { remoteUrl: 'https://search.example.com/mcp', ...spec },
    { uid: UID, generation: 1 },
  );

const auth = (name: string, spec: object): KubeObject => made('MCPExternalAuthConfig', name, spec);
const token = auth('token', { type: 'bearerToken', bearerToken: { tokenSecretRef: { name: 'keys', key: 'token' } } });
const embedded = (more: object = {}): KubeObject =>
  auth('own', { type: 'embeddedAuthServer', embeddedAuthServer: authServer(more) });
const issuer = made('MCPOIDCConfig', 'idp', { type: 'inline', inline: { issuer: 'https://auth.example.com' } });
const oidc = { oidcConfigRef: { name: 'idp', audience: 'search' } };

interface How {
  readonly reports?: PodReports;
  readonly contract?: Contract;
}
const plan = (
  objects: readonly KubeObject[],
  { reports = new Map(), contract = everythingBuilt() }: How = {},
): Plan => {
  const bundle = resolveServed({ ...objectsSource(objects), reports: () => reports }, KEY, DEFAULT_SETTINGS.mac);
  assert.ok(bundle !== undefined);
  return planRemoteProxy(bundle, { settings: DEFAULT_SETTINGS, contract });
};

const owned = {
  ownerReferences: [
    { apiVersion: 'vmcp.dev/v1beta1', kind: 'MCPRemoteProxy', name: 'search', uid: UID, controller: true },
  ],
};

/** What the cluster has after `before` was applied, and its pod is ready. */
const serving = (before: Plan): readonly KubeObject[] => {
  const configMap = planned(before, 'ConfigMap');
  const deployment = planned(before, 'Deployment');
  return [
    { ...configMap, metadata: { ...configMap.metadata, ...owned } },
    { ...deployment, metadata: { ...deployment.metadata, uid: 'd1', ...owned }, status: { availableReplicas: 1 } },
  ];
};

const saying = (status: BackendStatus): PodReports => new Map([['search-0', report({ search: status })]]);

interface Files {
  readonly authServer?: object;
  readonly backends?: readonly { readonly url: string }[];
  readonly incomingAuth?: { readonly authz?: { readonly primaryUpstreamProvider?: string } };
}
const fileOf = ({ config, withheld }: Plan, name: string): Files => parse((config ?? withheld)?.[name] ?? '') as Files;

const phaseOf = (each: Plan): unknown => statusOf(each)['phase'];

covers('authserver.upstreams.mcpremoteproxy-one');
test('an embedded server with two upstream providers is invalid, and nothing is made', () => {
  const [idp] = authServer({}).upstreamProviders;
  const two = embedded({ upstreamProviders: [idp, { ...idp, name: 'second' }] });
  const refused = plan([proxy({ ...oidc, authServerRef: { name: 'own' } }), issuer, two]);
  assert.equal(condition(refused, 'Valid')?.reason, 'Invalid');
  assert.match(
    condition(refused, 'AuthServerConfigValidated')?.message ?? '',
    /has more than one upstream provider, or none/,
  );
  assert.equal(phaseOf(refused), 'Failed');
  assert.equal(refused.objects, undefined);
});

covers('errors.primary-upstream-ignored.mcpremoteproxy');
for (const authzConfig of [
  { type: 'inline', inline: { policies: ['permit(principal, action, resource);'], primaryUpstreamProvider: 'other' } },
  { type: 'configMap', configMap: { name: 'policies' } },
]) {
  test(`primaryUpstreamProvider is told of and ignored, policies of type ${authzConfig.type}`, () => {
    const cedar = { policies: ['permit(principal, action, resource);'], primary_upstream_provider: 'other' };
    const policies = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'policies', namespace: 'default' },
      data: { 'authz.json': JSON.stringify({ version: '1.0', type: 'cedarv1', cedar }) },
    };
    const alone = plan([proxy({ ...oidc, authzConfig }), issuer, policies]);
    assert.equal(condition(alone, 'AuthzPrimaryUpstreamProviderIgnored')?.status, 'True');
    assert.equal(condition(alone, 'Valid')?.status, 'True');
    assert.equal(fileOf(alone, 'config.yaml').incomingAuth?.authz?.primaryUpstreamProvider, undefined);
    const spec = { ...oidc, authzConfig, authServerRef: { name: 'own' } };
    const withServer = plan([proxy(spec), issuer, policies, embedded()]);
    assert.equal(fileOf(withServer, 'config.yaml').incomingAuth?.authz?.primaryUpstreamProvider, 'idp');
    assert.equal(planned(withServer, 'Deployment').metadata.name, 'mcpremoteproxy-search');
  });
}

test('without its MCPExternalAuthConfig the remote server is not contacted, also when it goes while pods serve', () => {
  const spec = { externalAuthConfigRef: { name: 'token' } };
  const first = plan([proxy(spec)]);
  assert.equal(phaseOf(first), 'Pending');
  assert.equal(condition(first, 'ExternalAuthConfigResolved')?.reason, 'ExternalAuthConfigNotFound');
  const before = plan([proxy(spec), token]);
  const after = plan([proxy(spec), ...serving(before)]);
  for (const each of [first, after]) {
    assert.equal(condition(each, 'BackendReachable')?.reason, 'AuthConfigNotFound');
    assert.equal(fileOf(each, 'backends.yaml').backends, undefined);
  }
  assert.doesNotMatch(JSON.stringify(planned(first, 'Deployment')), /keys/);
  assert.deepEqual(planned(after, 'Deployment')['spec'], planned(before, 'Deployment')['spec'], 'no pod is replaced');
});

const outgoingOf = (spec: object): unknown =>
  (
    parse(plan([proxy({ ...oidc, ...spec }), issuer, embedded(), token]).config?.['backends.yaml'] ?? '') as {
      readonly outgoingAuth?: { readonly backends?: unknown };
    }
  ).outgoingAuth?.backends;

test('with an embedded server the token of its provider goes to the remote server, unless a config says otherwise', () => {
  const own = { authServerRef: { name: 'own' } };
  const inject = { type: 'upstream_inject', upstreamInject: { providerName: 'idp' } };
  assert.deepEqual(outgoingOf(own), { search: inject });
  assert.deepEqual(outgoingOf({ ...own, externalAuthConfigRef: { name: 'token' } }), {
    search: { type: 'bearer_token', bearerToken: { tokenFile: '/etc/vmcp/secrets/keys/token' } },
  });
  assert.equal(outgoingOf({}), undefined);
});

test('an MCPExternalAuthConfig that is for clients is of no use towards the remote server', () => {
  const wrong = plan([proxy({ externalAuthConfigRef: { name: 'own' } }), embedded()]);
  assert.equal(condition(wrong, 'BackendReachable')?.reason, 'AuthConfigInvalid');
  assert.equal(phaseOf(wrong), 'Failed');
});

test('a token of a login that nobody can have made is not waited for', () => {
  const inject = auth('token', { type: 'upstreamInject', upstreamInject: { providerName: 'idp' } });
  const alone = plan([proxy({ ...oidc, externalAuthConfigRef: { name: 'token' } }), issuer, inject]);
  assert.match(
    condition(alone, 'BackendReachable')?.message ?? '',
    /no upstream provider idp; set spec\.authServerRef$/,
  );
});

for (const lost of ['MCPOIDCConfig', 'MCPExternalAuthConfig']) {
  test(`what came from an ${lost} that is deleted stays, and a first one is waited for`, () => {
    const spec = { ...oidc, authServerRef: { name: 'own' } };
    const all = [issuer, embedded()];
    const rest = all.filter(({ kind }) => kind !== lost);
    const before = plan([proxy(spec), ...all]);
    const after = plan([proxy(spec), ...rest, ...serving(before)], { reports: saying('ready') });
    assert.deepEqual(after.config, before.config);
    assert.deepEqual([phaseOf(after), condition(after, 'Ready')?.reason], ['Ready', 'LastGoodSpecServes']);
    const first = plan([proxy(spec), ...rest]);
    assert.deepEqual([phaseOf(first), first.objects], ['Pending', undefined]);
  });
}

test('policies that are stored without oidcConfigRef are refused, and nothing is made that serves everybody', () => {
  const authzConfig = { type: 'inline', inline: { policies: ['permit(principal, action, resource);'] } };
  const stored = proxy();
  const refused = plan([{ ...stored, spec: { ...(stored['spec'] as object), authzConfig } }]);
  assert.equal(condition(refused, 'Valid')?.reason, 'Invalid');
  assert.deepEqual([phaseOf(refused), refused.objects], ['Failed', undefined]);
  assert.equal(condition(refused, 'PoliciesNotEnforced'), undefined);
  const left = plan([{ ...stored, spec: { ...(stored['spec'] as object), authzConfig } }, ...serving(plan([stored]))]);
  assert.equal(condition(left, 'PoliciesNotEnforced')?.status, 'True');
});

test('a remote server that does not answer leaves the proxy Ready, and a new operator says the same until a pod answers', () => {
  const before = plan([proxy()]);
  const objects = serving(before);
  for (const status of ['ready', 'unavailable', 'unauthenticated', 'degraded'] as const) {
    const told = plan([proxy(), ...objects], { reports: saying(status) });
    assert.equal(phaseOf(told), 'Ready');
    const usable = status === 'ready' || status === 'unauthenticated';
    assert.equal(condition(told, 'BackendReachable')?.status, usable ? 'True' : 'False');
    const restarted = plan([{ ...proxy(), status: told.status }, ...objects]);
    assert.deepEqual(restarted.status, told.status);
  }
});

test('credentials in remoteUrl appear nowhere and refuse the spec', () => {
  const refused = plan([proxy({ remoteUrl: 'https://me:hunter2@search.example.com/mcp' })]);
  assert.equal(condition(refused, 'Valid')?.status, 'False');
  assert.doesNotMatch(JSON.stringify(refused), /hunter2/);
});

test('a strategy that the runtime does not have yet is told, and the remote server is not contacted', () => {
  const refusal = { reason: 'NotSupportedYet', message: 'not supported yet' } as const;
  const contract = { ...newContract(), backendRefusals: () => [refusal] };
  const early = plan([proxy({ externalAuthConfigRef: { name: 'token' } }), token], { contract });
  assert.deepEqual(fileOf(early, 'backends.yaml').backends ?? [], []);
  assert.equal(condition(early, 'BackendReachable')?.reason, 'NotSupportedYet');
  assert.equal(statusOf(early)['phase'], 'Failed');
});

test('a server over the group of a proxy has neither its credential nor its headers, whatever the outgoing auth says', () => {
  const secrets = [{ headerName: 'X-Key', valueSecretRef: { name: 'keys', key: 'key' } }];
  const member = proxy({
    groupRef: { name: 'tools' },
    externalAuthConfigRef: { name: 'token' },
    headerForward: { addHeadersFromSecret: secrets },
  });
  const explicit = { backends: { search: { type: 'discovered' } } };
  for (const outgoingAuth of [undefined, { source: 'discovered' }, explicit]) {
    const spec = outgoingAuth === undefined ? {} : { outgoingAuth };
    const bundle = resolveServer(objectsSource([server(spec), group(), member, token]), SERVER_KEY);
    assert.ok(bundle !== undefined);
    const over = planServer(bundle, { settings: DEFAULT_SETTINGS, contract: everythingBuilt() });
    const [backend] = fileOf(over, 'backends.yaml').backends ?? [];
    assert.equal(backend?.url, 'http://mcpremoteproxy-search.default.svc.cluster.local:8080/mcp');
    assert.doesNotMatch(JSON.stringify(over), /\/keys\//);
  }
});

test('a proxy that takes tokens for the audience of another server is told of, on both', () => {
  const gateway = server({ incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'idp', audience: 'search' } } });
  const objects = [proxy(oidc), gateway, issuer, group()];
  assert.match(condition(plan(objects), 'AudienceShared')?.message ?? '', /^VirtualMCPServer demo of this namespace/);
  const bundle = resolveServer(objectsSource(objects), SERVER_KEY, DEFAULT_SETTINGS.mac);
  assert.ok(bundle !== undefined);
  const over = planServer(bundle, { settings: DEFAULT_SETTINGS, contract: everythingBuilt() });
  assert.match(condition(over, 'AudienceShared')?.message ?? '', /^MCPRemoteProxy search of this namespace/);
});

test('calls that need a user are told of where the proxy neither checks tokens nor is handed any', () => {
  const exchange = auth('exchange', {
    type: 'tokenExchange',
    tokenExchange: { tokenUrl: 'https://idp.example.com/token', audience: 'search' },
  });
  const told = (spec: object): string | undefined =>
    condition(
      plan([proxy({ externalAuthConfigRef: { name: 'exchange' }, ...spec }), exchange, issuer, group()]),
      'BackendsNeedUsers',
    )?.message;
  assert.match(told({}) ?? '', /^every call of search \(tokenExchange\) fails: .*; set oidcConfigRef$/);
  assert.equal(told({ groupRef: { name: 'tools' } }), undefined);
  assert.equal(told(oidc), undefined);
});
