import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { parseResource } from '../../../../../crds/index.ts';
import { virtualMcpServer } from '../../../../../operator/kinds/virtual-mcp-server.ts';
import type { KubeObject } from '../../../../../operator/object.ts';
import type { Plan } from '../../../../../operator/plan/plan.ts';
import { objectsSource } from '../../../../../operator/read/source.ts';
import { covers } from '../../../../requirements.ts';
import { made } from '../../made.ts';
import { condition, entry, group, planned, server, statusOf } from '../../plan-of-demo.ts';
import {
  authServerConfig,
  configMap,
  configOf,
  idp,
  oidc,
  planOf,
  planWith,
  servedBefore,
} from '../../plan-with-everything-built.ts';

interface PodSpec {
  readonly containers: readonly { readonly volumeMounts: readonly { readonly mountPath: string }[] }[];
  readonly volumes: readonly { readonly name: string; readonly projected?: { readonly sources: readonly unknown[] } }[];
}
const podOf = (plan: Plan): PodSpec =>
  (planned(plan, 'Deployment')['spec'] as { readonly template: { readonly spec: PodSpec } }).template.spec;
const sourcesIn = (plan: Plan, volume: string): unknown =>
  podOf(plan).volumes.find(({ name }) => name === volume)?.projected?.sources;

covers('operator.ca-bundle.mount-path');
test('the CA bundle of an entry is mounted where the config says it is', () => {
  const member = entry('a', {
    remoteUrl: 'https://a.example/mcp',
    caBundleRef: { configMapRef: { name: 'authorities', key: 'a.pem' } },
  });
  const plan = planOf(server(), group(), member, configMap('authorities'));
  assert.match(plan.config?.['backends.yaml'] ?? '', /caBundlePath: \/etc\/vmcp\/ca-bundles\/a\/ca\.crt/);
  assert.deepEqual(sourcesIn(plan, 'vmcp-ca-bundles'), [
    { configMap: { name: 'authorities', items: [{ key: 'a.pem', path: 'a/ca.crt' }], optional: true } },
  ]);
  assert.ok(podOf(plan).containers[0]?.volumeMounts.some(({ mountPath }) => mountPath === '/etc/vmcp/ca-bundles'));
});

covers('operator.secretref.key-selects-value', 'oidcconfig.inline.client-id');
test('a client secret is a file of the pod, under the name of its Secret and its key', () => {
  const config = idp({ clientId: 'gateway', clientSecretRef: { name: 'client', key: 'value' } });
  const plan = planOf(server(oidc()), group(), config);
  assert.equal(configOf(plan).incomingAuth.oidc?.['clientId'], 'gateway');
  assert.equal(configOf(plan).incomingAuth.oidc?.['clientSecretFile'], '/etc/vmcp/secrets/client/value');
  assert.deepEqual(sourcesIn(plan, 'vmcp-secrets'), [
    { secret: { name: 'client', items: [{ key: 'value', path: 'client/value' }], optional: true } },
  ]);
});

test('a token exchange needs no client', () => {
  const exchange = { tokenUrl: 'https://sts.example/token', audience: 'a' };
  const config = made('MCPExternalAuthConfig', 'sts', { type: 'tokenExchange', tokenExchange: exchange });
  const plan = planOf(server(), group(), entry('a', { externalAuthConfigRef: { name: 'sts' } }), config);
  const { outgoingAuth } = parse(plan.config?.['backends.yaml'] ?? '') as { readonly outgoingAuth: unknown };
  assert.deepEqual(outgoingAuth, { backends: { a: { type: 'token_exchange', tokenExchange: exchange } } });
});

test('what came from a lost MCPOIDCConfig goes on being served, with its certificates', () => {
  const caBundleRef = { configMapRef: { name: 'authorities', key: 'ca.pem' } };
  const first = planOf(server(oidc()), group(), idp({ caBundleRef }), configMap('authorities'));
  const later = planOf(server(oidc()), group(), ...servedBefore(first));
  assert.equal(statusOf(later)['phase'], 'Degraded');
  assert.equal(later.config?.['config.yaml'], first.config?.['config.yaml']);
  assert.deepEqual(planned(later, 'Deployment')['spec'], planned(first, 'Deployment')['spec']);
  const [, remembered] = servedBefore(first);
  assert.ok(remembered !== undefined);
  const again = planOf(server(oidc()), group(), remembered);
  assert.deepEqual(
    planned(again, 'Deployment')['spec'],
    planned(first, 'Deployment')['spec'],
    'its Deployment is lost, too',
  );
});

test('certificates that another writer has broken are mounted from nowhere', () => {
  const first = planOf(server(oidc()), group(), idp({ caBundleRef: { configMapRef: { name: 'a', key: 'b' } } }));
  const { 'accepted.json': text = '', ...data } = planned(first, 'ConfigMap')['data'] as Record<string, string>;
  for (const caBundles of [5, [null, 5, { owner: '_oidc' }, { owner: '_oidc', configMap: { name: {}, key: 'b' } }]]) {
    const edited = { ...data, 'accepted.json': JSON.stringify({ ...(JSON.parse(text) as object), caBundles }) };
    const [, kept] = servedBefore(first);
    assert.ok(kept !== undefined);
    const later = planOf(server(oidc()), group(), { ...kept, data: edited });
    assert.equal(sourcesIn(later, 'vmcp-ca-bundles'), undefined);
  }
});

covers('oidcconfig.cluster-service-account.empty-object');
test("tokens of the cluster's service accounts are taken once the cluster has said who issues them", () => {
  const cluster = made('MCPOIDCConfig', 'idp', { type: 'clusterServiceAccount', clusterServiceAccount: {} });
  const unknown = planOf(server(oidc()), group(), cluster);
  assert.equal(unknown.objects, undefined);
  assert.match(condition(unknown, 'Valid')?.message ?? '', /^spec\.incomingAuth\.oidcConfigRef: who issues .* inline$/);
  const clusterIssuer = { issuer: 'https://kubernetes.default.svc', keys: [{ kty: 'RSA', kid: 'k' }] };
  const known = planWith({ clusterIssuer }, server(oidc()), group(), cluster);
  const { issuer, audience, clientId, issuerKeys } = configOf(known).incomingAuth.oidc ?? {};
  assert.deepEqual([issuer, audience, clientId], [clusterIssuer.issuer, 'demo', 'demo']);
  assert.deepEqual(issuerKeys, { keys: clusterIssuer.keys });
});

test('a server whose audience is that of the API server has a condition that says so', () => {
  const clusterIssuer = { issuer: 'https://kubernetes.default.svc', keys: [{ kty: 'RSA', kid: 'k' }] };
  const told = (audience: string, type = 'oidc') => {
    const { incomingAuth } = oidc({ type, oidcConfigRef: { name: 'idp', audience } }) as { incomingAuth: object };
    return condition(planWith({ clusterIssuer }, server({ incomingAuth }), group(), idp()), 'AudienceOfApiServer');
  };
  assert.match(told(clusterIssuer.issuer)?.message ?? '', /^the API server takes .* give the server an audience of/);
  assert.equal(told('demo'), undefined);
  assert.equal(told(clusterIssuer.issuer, 'anonymous'), undefined);
});

const withProvider = (primaryUpstreamProvider: string) =>
  oidc({ authzConfig: { type: 'inline', inline: { policies: ['x'], primaryUpstreamProvider } } });

covers(
  'status.condition.auth-server-config-validated',
  'errors.primary-upstream-unknown.condition',
  'authz.primary-upstream.must-match',
);
test('AuthServerConfigValidated says whether the embedded authorization server can be started', () => {
  const told = (spec: object) => {
    const { status, message } = condition(planOf(server(spec), group(), idp()), 'AuthServerConfigValidated') ?? {};
    return [status, message];
  };
  assert.deepEqual(told(oidc()), [undefined, undefined]);
  assert.deepEqual(told({ ...oidc(), authServerConfig }), ['True', 'the authorization server can be started']);
  assert.equal(told({ ...withProvider('corp'), authServerConfig })[0], 'True');
  const unknown = told({ ...withProvider('nobody'), authServerConfig });
  assert.deepEqual(unknown, [
    'False',
    'spec.incomingAuth.authzConfig.inline.primaryUpstreamProvider: no upstream provider is called nobody; name one of corp',
  ]);
});

covers('crd.config.name');
test('config.name is the name in the configuration, that of the resource without it', () => {
  const nameFor = (more: object): unknown => parse(planOf(server(more), group()).config?.['config.yaml'] ?? '').name;
  assert.equal(nameFor({ config: { name: 'shop' } }), 'shop');
  assert.equal(nameFor({}), 'demo');
});

covers('versioning.config-telemetry.deprecated');
test('config.telemetry counts and is reported as deprecated, with what to do instead', () => {
  const config = { telemetry: { endpoint: 'https://collector.example' } };
  const plan = planOf(server({ config }), group());
  assert.match(plan.config?.['config.yaml'] ?? '', /endpoint: https:\/\/collector\.example/);
  const told = condition(plan, 'TelemetryDeprecated');
  assert.equal(told?.reason, 'UseTelemetryConfigRef');
  assert.match(told?.message ?? '', /^spec\.config\.telemetry: .*; .* name that in spec\.telemetryConfigRef$/);
  const both = planOf(server({ config, telemetryConfigRef: { name: 't' } }), group());
  assert.match(condition(both, 'TelemetryDeprecated')?.message ?? '', /; remove it, /);
  assert.equal(condition(planOf(server(), group()), 'TelemetryDeprecated'), undefined);
});

covers('incoming-auth.audience.unique-per-server', 'telemetry.config-ref.service-name-unique');
test('a server whose audience or service name another one has, too, has a condition that names it', () => {
  const named = (name: string, spec: object) => server(spec, { name, uid: name });
  const told = (other: object, type: string) =>
    condition(
      planOf(server({ ...oidc(), telemetryConfigRef: { name: 't' } }), group(), idp(), named('b', other)),
      type,
    );
  assert.match(told(oidc(), 'AudienceShared')?.message ?? '', /^VirtualMCPServer b of this namespace .* audience demo/);
  assert.equal(told(oidc({ type: 'anonymous' }), 'AudienceShared'), undefined);
  const at = (audience: string) => ({ incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'idp', audience } } });
  const [bare, slashed] = [server(at('https://a.example')), named('b', at('https://A.example/'))];
  const same = condition(planOf(bare, group(), idp(), slashed), 'AudienceShared');
  assert.equal(same?.reason, 'SameAudience', 'one URL in two spellings');
  const front = { telemetryConfigRef: { name: 't', serviceName: 'vmcp-demo' } };
  assert.match(
    told(front, 'ServiceNameShared')?.message ?? '',
    /^VirtualMCPServer b of this namespace .* as vmcp-demo/,
  );
  assert.equal(told({ telemetryConfigRef: { name: 't' } }, 'ServiceNameShared'), undefined);
});

test('a change of a server is looked at by those that have something in common with it, and by no others', () => {
  const named = (name: string, spec: object) => server(spec, { name });
  const all = [named('a', oidc()), named('b', oidc()), named('c', {})];
  const affected = (changed: KubeObject) =>
    virtualMcpServer()
      .affectedBy(objectsSource(all), changed)
      .map(({ name }) => name);
  assert.deepEqual(affected(named('a', oidc())), ['b']);
  assert.deepEqual(affected(named('d', {})), []);
});

test('a key of a map that is called like a reference to a secret is none', () => {
  const oidcConfig = {
    issuerUrl: 'https://corp.example',
    clientId: 'g',
    additionalAuthorizationParams: { clientSecretRef: 'x' },
  };
  const upstreamProviders = [{ name: 'corp', type: 'oidc', oidcConfig }];
  const plan = planOf(
    server({ ...oidc(), authServerConfig: { ...authServerConfig, upstreamProviders } }),
    group(),
    idp(),
  );
  assert.match(plan.config?.['config.yaml'] ?? '', /additionalAuthorizationParams:\n\s+clientSecretRef: x/);
});

test('certificates of a member of the group are mounted for an entry of a list of one’s own', () => {
  const caBundlePath = '/etc/vmcp/ca-bundles/a/ca.crt';
  const backends = [{ name: 'a', url: 'https://a.example', transport: 'streamable-http', type: 'entry', caBundlePath }];
  const member = entry('a', { caBundleRef: { configMapRef: { name: 'authorities', key: 'a.pem' } } });
  const plan = planOf(server({ outgoingAuth: { source: 'inline' }, config: { backends } }), group(), member);
  assert.notEqual(sourcesIn(plan, 'vmcp-ca-bundles'), undefined);
});

test('an upstream provider that is left empty is the first one, or none', () => {
  const exchange = { tokenUrl: 'https://sts.example/token', audience: 'a', subjectProviderName: '' };
  const config = made('MCPExternalAuthConfig', 'sts', { type: 'tokenExchange', tokenExchange: exchange });
  const member = entry('a', { externalAuthConfigRef: { name: 'sts' } });
  const chosen = (spec: object): unknown =>
    (
      parse(planOf(server(spec), group(), idp(), member, config).config?.['backends.yaml'] ?? '') as {
        outgoingAuth: { backends: { a: { tokenExchange: { subjectProviderName?: string } } } };
      }
    ).outgoingAuth.backends.a.tokenExchange.subjectProviderName;
  assert.equal(chosen({}), undefined);
  assert.equal(chosen({ ...oidc(), authServerConfig }), 'corp');
});

test('a text that looks like the place of a secret mounts nothing', () => {
  const plan = planOf(server({ config: { metadata: { note: '/etc/vmcp/secrets/admin/password' } } }), group());
  assert.equal(sourcesIn(plan, 'vmcp-secrets'), undefined);
});

test('a name in outgoingAuth.backends that is no backend is reported', () => {
  const rule = { type: 'externalAuthConfigRef', externalAuthConfigRef: { name: 'x' } };
  const plan = planOf(server({ outgoingAuth: { backends: { github: rule } } }), group(), entry('git-hub'));
  assert.match(condition(plan, 'UnknownWorkload')?.message ?? '', /names github, which is no backend/);
});

test('a reference leads to no file but one of a Secret or ConfigMap', () => {
  for (const ref of [
    { name: '../../proc', key: 'a' },
    { name: 'a', key: '../b' },
    { name: 'a', key: '..' },
  ]) {
    const spec = { type: 'bearerToken', bearerToken: { tokenSecretRef: ref } };
    const parsed = parseResource({
      apiVersion: 'vmcp.dev/v1beta1',
      kind: 'MCPExternalAuthConfig',
      metadata: { name: 'a', namespace: 'default' },
      spec,
    });
    assert.ok(!parsed.ok);
  }
});
