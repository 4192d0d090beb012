import assert from 'node:assert/strict';
import { test } from 'node:test';
import { virtualMcpServer } from '../../../operator/kinds/virtual-mcp-server.ts';
import { type KubeObject, keyText } from '../../../operator/object.ts';
import { planEntry } from '../../../operator/plan/entry.ts';
import type { Plan } from '../../../operator/plan/plan.ts';
import { configHash } from '../../../operator/plan/shared-config.ts';
import { resolveReferences } from '../../../operator/read/resolve.ts';
import { objectsSource } from '../../../operator/read/source.ts';
import { covers } from '../../requirements.ts';
import { everythingBuilt } from './golden.ts';
import { made } from './made.ts';
import { availableDeployment, condition, entry, group, planned, server, statusOf } from './plan-of-demo.ts';
import { planOf } from './plan-with-everything-built.ts';

const placed = (kind: string, spec: object, { namespace = 'default', name = 'it' } = {}): KubeObject =>
  kind === 'ConfigMap' || kind === 'Secret'
    ? { apiVersion: 'v1', kind, metadata: { name, namespace }, ...spec }
    : made(kind, name, spec, { namespace });

interface Row {
  readonly type: string;
  readonly kind: string;
  /** Fields of the server that name `it`. */
  readonly naming: object;
  readonly path: string;
  readonly good: object;
  /** Absent: the kind has no rules of ours. */
  readonly bad?: object;
  /** Whether the server waits without it. */
  readonly isRequired: boolean;
}

const oidc = (more: object = {}, name = 'it') => ({
  incomingAuth: { type: 'oidc', oidcConfigRef: { name, audience: 'a' }, ...more },
});
const policies = { authzConfig: { type: 'configMap', configMap: { name: 'it', key: 'authz.json' } } };
const AUTHZ_JSON = '{"version":"1.0","type":"cedarv1","cedar":{"policies":["permit(principal, action, resource);"]}}';
const idp = placed('MCPOIDCConfig', { type: 'inline', inline: { issuer: 'https://idp.example' } }, { name: 'idp' });
const step = { id: 'a', type: 'tool', tool: 'x.y' };

const ROWS: readonly Row[] = [
  {
    type: 'OIDCConfig',
    kind: 'MCPOIDCConfig',
    naming: oidc(),
    path: 'spec.incomingAuth.oidcConfigRef',
    good: { type: 'inline', inline: { issuer: 'https://idp.example.com' } },
    bad: { type: 'inline', inline: { issuer: 'http://idp.example.com' } },
    isRequired: true,
  },
  {
    type: 'TelemetryConfig',
    kind: 'MCPTelemetryConfig',
    naming: { telemetryConfigRef: { name: 'it' } },
    path: 'spec.telemetryConfigRef',
    good: { prometheus: { enabled: true } },
    bad: { openTelemetry: { endpoint: 'no address', tracing: { enabled: true } } },
    isRequired: true,
  },
  {
    type: 'ToolConfig',
    kind: 'MCPToolConfig',
    naming: { config: { aggregation: { tools: [{ workload: 'a', toolConfigRef: { name: 'it' } }] } } },
    path: 'spec.config.aggregation.tools[0].toolConfigRef',
    good: { toolsFilter: ['x'] },
    bad: { toolsOverride: { a: { name: 'x' }, b: { name: 'x' } } },
    isRequired: true,
  },
  {
    type: 'CompositeTool',
    kind: 'VirtualMCPCompositeToolDefinition',
    naming: { config: { compositeToolRefs: [{ name: 'it' }] } },
    path: 'spec.config.compositeToolRefs[0]',
    good: { name: 'flow', steps: [step] },
    bad: { name: 'flow', steps: [{ ...step, dependsOn: ['a'] }] },
    isRequired: true,
  },
  {
    type: 'ConfigMap',
    kind: 'ConfigMap',
    naming: oidc(policies, 'idp'),
    path: 'spec.incomingAuth.authzConfig.configMap',
    good: { data: { 'authz.json': AUTHZ_JSON } },
    isRequired: true,
  },
  {
    type: 'ExternalAuthConfig',
    kind: 'MCPExternalAuthConfig',
    naming: { outgoingAuth: { default: { type: 'externalAuthConfigRef', externalAuthConfigRef: { name: 'it' } } } },
    path: 'spec.outgoingAuth.default.externalAuthConfigRef',
    good: { type: 'unauthenticated' },
    bad: { type: 'upstreamInject', upstreamInject: { providerName: 'No One' } },
    isRequired: false,
  },
  {
    type: 'Secret',
    kind: 'Secret',
    naming: { sessionStorage: { provider: 'kvstore', address: 'redis:6379', passwordRef: { name: 'it', key: 'p' } } },
    path: 'spec.sessionStorage.passwordRef',
    good: {},
    isRequired: false,
  },
];

covers('operator.ref.telemetry-config.same-namespace', 'errors.reference-missing.oidc-config');
covers('errors.reference-missing.telemetry-config');
for (const { type, kind, naming, path, good, bad, isRequired } of ROWS) {
  const plan = (...objects: readonly KubeObject[]): Plan => planOf(server(naming), group(), idp, ...objects);
  const told = (of: Plan): unknown => {
    const { status, reason, message } = condition(of, `${type}Resolved`) ?? {};
    return [status, reason, message];
  };

  test(`${kind}: present, it is found and the server is made`, () => {
    const found = plan(placed(kind, good));
    assert.deepEqual(told(found), ['True', `${type}Found`, `${kind} it`]);
    assert.ok(found.objects !== undefined);
  });

  test(`${kind}: missing, or in another namespace, is told; the server ${isRequired ? 'waits' : 'is made'}`, () => {
    for (const objects of [[], [placed(kind, good, { namespace: 'elsewhere' })]]) {
      const missing = plan(...objects);
      const remedy = `no ${kind} it in this namespace; create it or change ${path}`;
      assert.deepEqual(told(missing), ['False', `${type}NotFound`, remedy]);
      assert.equal(missing.objects === undefined, isRequired);
      assert.equal(statusOf(missing)['phase'], 'Pending');
      if (isRequired) assert.equal(statusOf(missing)['message'], `waiting for ${kind} it`);
    }
  });

  if (bad === undefined) continue;
  test(`${kind}: what breaks a rule is as good as missing`, () => {
    const invalid = plan(placed(kind, bad));
    assert.equal(condition(invalid, `${type}Resolved`)?.reason, `${type}Invalid`);
    assert.match(
      condition(invalid, `${type}Resolved`)?.message ?? '',
      new RegExp(`^${kind} it cannot be used: spec\\.`),
    );
    assert.equal(invalid.objects === undefined, isRequired);
  });
}

test('what came from a configuration that is deleted, or breaks a rule, goes on being served', () => {
  const spec = { config: { aggregation: { tools: [{ workload: 'a', toolConfigRef: { name: 'it' } }] } } };
  const first = planOf(server(spec), group(), placed('MCPToolConfig', { toolsFilter: ['x'] }));
  const { metadata, data } = planned(first, 'ConfigMap');
  const ownerReferences = (metadata.ownerReferences ?? []).map((each) => ({ ...each, controller: true }));
  const kept: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...metadata, ownerReferences }, data };
  const bad = placed('MCPToolConfig', { toolsOverride: { a: { name: 'x' }, b: { name: 'x' } } });
  for (const objects of [[], [bad]]) {
    const plan = planOf(server(spec), group(), availableDeployment, kept, ...objects);
    assert.equal(statusOf(plan)['phase'], 'Degraded');
    assert.equal(plan.config?.['config.yaml'], first.config?.['config.yaml']);
  }
});

covers('status.telemetry-config-hash', 'status.telemetry-config-hash.follows-change');
test('hashes are those of the configurations that are named, and stay while one is lost', () => {
  const telemetry = (enabled: boolean) => placed('MCPTelemetryConfig', { prometheus: { enabled } });
  const spec = { telemetryConfigRef: { name: 'it' } };
  const hash = (...objects: readonly KubeObject[]) => statusOf(planOf(group(), ...objects))['telemetryConfigHash'];
  const first = hash(server(spec), telemetry(true));
  assert.equal(first, configHash(telemetry(true)));
  assert.notEqual(hash(server(spec), telemetry(false)), first);
  assert.equal(hash(server(spec)), undefined);
  assert.equal(hash({ ...server(spec), status: { telemetryConfigHash: first } }), first);
  assert.equal(hash({ ...server(), status: { telemetryConfigHash: first } }), undefined);
});

test('what anonymous access ignores holds nothing up', () => {
  const plan = planOf(server(oidc({ type: 'anonymous', ...policies })), group());
  assert.ok(plan.objects !== undefined);
  assert.equal(condition(plan, 'OIDCConfigResolved')?.status, 'False');
});

interface Backend {
  readonly name: string;
  readonly status: string;
  readonly authType?: string;
  readonly authConfigRef?: string;
  readonly message?: string;
}

const backendsOf = (plan: Plan): readonly Backend[] => statusOf(plan)['discoveredBackends'] as readonly Backend[];

covers('status.discovered.auth-type', 'status.discovered.auth-config-ref');
test('a missing MCPExternalAuthConfig makes the backend that names it unavailable, and no other', () => {
  const members = [entry('open'), entry('secure', { externalAuthConfigRef: { name: 'it' } })];
  const missing = planOf(server(), group(), ...members);
  assert.ok(missing.objects !== undefined);
  const message =
    'MCPServerEntry secure: no MCPExternalAuthConfig it in this namespace; create it or change spec.externalAuthConfigRef';
  assert.deepEqual(
    backendsOf(missing).map((each) => [each.name, each.status, each.authType, each.authConfigRef, each.message]),
    [
      ['open', 'unknown', 'unauthenticated', undefined, undefined],
      ['secure', 'unavailable', undefined, 'it', message],
    ],
  );
  assert.deepEqual(
    [condition(missing, 'BackendsWithheld')?.reason, condition(missing, 'BackendsWithheld')?.message],
    ['AuthConfigNotFound', message],
  );
  const bearer = { type: 'bearerToken', bearerToken: { tokenSecretRef: { name: 's', key: 'k' } } };
  const [, secure] = backendsOf(planOf(server(), group(), ...members, placed('MCPExternalAuthConfig', bearer)));
  assert.deepEqual([secure?.status, secure?.authType, secure?.authConfigRef], ['unknown', 'bearerToken', 'it']);
});

test('an explicit entry comes before what the backend names, and that before the default', () => {
  const rule = (name: string) => ({ type: 'externalAuthConfigRef', externalAuthConfigRef: { name } });
  const members = [entry('a'), entry('b', { externalAuthConfigRef: { name: 'own' } }), entry('c')];
  const chosen = (outgoingAuth: object): unknown =>
    backendsOf(planOf(server({ outgoingAuth }), group(), ...members)).map((each) => each.authConfigRef);
  assert.deepEqual(chosen({ source: 'discovered' }), [undefined, 'own', undefined]);
  assert.deepEqual(chosen({ source: 'discovered', default: rule('rest') }), ['rest', 'own', 'rest']);
  assert.deepEqual(chosen({ source: 'discovered', backends: { b: rule('mine') } }), [undefined, 'mine', undefined]);
  assert.deepEqual(chosen({ source: 'inline', backends: { c: rule('mine') } }), [undefined, undefined, 'mine']);
  assert.deepEqual(chosen({ source: 'inline', backends: { b: { type: 'discovered' } } }), [
    undefined,
    'own',
    undefined,
  ]);
});

test('an embedded server as the way to authenticate to a backend fails that backend closed', () => {
  const upstreams = [
    { name: 'idp', type: 'oidc', oidcConfig: { issuerUrl: 'https://idp.example.com', clientId: 'a' } },
  ];
  const config = placed('MCPExternalAuthConfig', {
    type: 'embeddedAuthServer',
    embeddedAuthServer: { issuer: 'https://auth.example.com', upstreamProviders: upstreams },
  });
  const plan = planOf(server(), group(), entry('a', { externalAuthConfigRef: { name: 'it' } }), config);
  assert.equal(backendsOf(plan)[0]?.status, 'unavailable');
  assert.equal(condition(plan, 'BackendsWithheld')?.reason, 'AuthConfigInvalid');
});

test('a change of what a member is authenticated with concerns the servers over its group', () => {
  const settled = {
    ...server(),
    status: { observedGeneration: 1, conditions: [{ type: 'Valid', status: 'True', reason: 'Valid' }] },
  };
  const other = {
    ...settled,
    metadata: { ...settled.metadata, name: 'other' },
    spec: server({ groupRef: { name: 'x' } })['spec'],
  };
  const source = objectsSource([settled, other, group(), entry('a', { externalAuthConfigRef: { name: 'it' } })]);
  const affected = (changed: KubeObject) => virtualMcpServer().affectedBy(source, changed).map(keyText);
  const login = placed('MCPExternalAuthConfig', { type: 'unauthenticated' });
  assert.deepEqual(affected(login), ['VirtualMCPServer/default/demo']);
  assert.deepEqual(affected({ ...login, metadata: { ...login.metadata, name: 'another' } }), []);
});

test('an entry waits for whatever it names, and says which', () => {
  const full = entry('a', {
    externalAuthConfigRef: { name: 'it' },
    headerForward: { addHeadersFromSecret: [{ headerName: 'X-Key', valueSecretRef: { name: 'it', key: 'k' } }] },
    caBundleRef: { configMapRef: { name: 'it', key: 'ca.crt' } },
  });
  const plan = (...objects: readonly KubeObject[]): Plan =>
    planEntry({ entry: full, references: resolveReferences(objectsSource(objects), full) }, everythingBuilt());
  const reasons = (of: Plan) =>
    (statusOf(of)['conditions'] as readonly { readonly reason: string }[]).map(({ reason }) => reason);
  assert.equal(statusOf(plan(group()))['phase'], 'Pending');
  assert.deepEqual(reasons(plan(group())), [
    'Valid',
    'GroupFound',
    'ExternalAuthConfigNotFound',
    'SecretNotFound',
    'ConfigMapNotFound',
    'ReferenceMissing',
  ]);
  const all = plan(
    group(),
    placed('MCPExternalAuthConfig', { type: 'unauthenticated' }),
    placed('Secret', {}),
    placed('ConfigMap', {}),
  );
  assert.equal(statusOf(all)['phase'], 'Valid');
  assert.deepEqual([condition(plan(group()), 'Ready')?.status, condition(all, 'Ready')?.status], ['False', 'True']);
});
