import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reconciledKinds } from '../../../operator/kinds/index.ts';
import { sharedConfig } from '../../../operator/kinds/shared-config.ts';
import { type KubeObject, keyOf, keyText } from '../../../operator/object.ts';
import { newContract } from '../../../operator/plan/contract.ts';
import type { Plan } from '../../../operator/plan/plan.ts';
import { configHash, planSharedConfig } from '../../../operator/plan/shared-config.ts';
import { objectsSource } from '../../../operator/read/source.ts';
import { DEFAULT_SETTINGS } from './golden.ts';
import { entry, server } from './plan-of-demo.ts';

const kind = sharedConfig({ kind: 'MCPExternalAuthConfig', plan: planSharedConfig }, newContract());

const made = (kindName: string, name: string, spec: object, metadata: object = {}): KubeObject => ({
  apiVersion: 'vmcp.dev/v1beta1',
  kind: kindName,
  metadata: { name, namespace: 'default', generation: 3, ...metadata },
  spec,
});

const login = made('MCPExternalAuthConfig', 'login', { type: 'unauthenticated' });
const ref = { externalAuthConfigRef: { name: 'login' } };
const explicit = { type: 'externalAuthConfigRef', ...ref };

const planOf = (...objects: readonly KubeObject[]): Plan => {
  const bundle = kind.resolve(objectsSource([login, ...objects]), keyOf(login));
  assert.ok(bundle !== undefined);
  return kind.plan(bundle, DEFAULT_SETTINGS);
};

const workloads = (...objects: readonly KubeObject[]): unknown => {
  const { referenceCount, referencingWorkloads } = planOf(...objects).status as {
    readonly referenceCount: number;
    readonly referencingWorkloads: readonly { readonly kind: string; readonly name: string }[];
  };
  assert.equal(referenceCount, referencingWorkloads.length);
  return referencingWorkloads.map((each) => `${each.kind} ${each.name}`);
};

test('workloads that name it anywhere are listed once each, by kind and name', () => {
  assert.deepEqual(
    workloads(
      made('MCPServer', 'b', { image: 'x', ...ref, authServerRef: { name: 'login' } }),
      made('MCPServer', 'a', { image: 'x', authServerRef: { name: 'login' } }),
      made('MCPRemoteProxy', 'z', { remoteUrl: 'http://z/mcp', ...ref }),
      made('MCPServer', 'other', { image: 'x', externalAuthConfigRef: { name: 'another' } }),
    ),
    ['MCPRemoteProxy z', 'MCPServer a', 'MCPServer b'],
  );
});

test('a VirtualMCPServer names it for one backend, or for all others', () => {
  const servers = [
    server({ outgoingAuth: { backends: { a: explicit } } }, { name: 'one' }),
    server({ outgoingAuth: { default: explicit } }, { name: 'rest' }),
    server({}, { name: 'none' }),
  ];
  assert.deepEqual(workloads(...servers), ['VirtualMCPServer one', 'VirtualMCPServer rest']);
});

test('an MCPServerEntry is a user that the list has no word for', () => {
  assert.deepEqual(workloads(entry('a', ref)), []);
});

test('a server that is being deleted, or in another namespace, is no user', () => {
  const spec = { image: 'x', ...ref };
  assert.deepEqual(workloads(made('MCPServer', 'a', spec, { deletionTimestamp: '2026-01-01T00:00:00Z' })), []);
  assert.deepEqual(workloads(made('MCPServer', 'a', spec, { namespace: 'elsewhere' })), []);
});

test('the hash depends on what the spec says, not on how it is written', () => {
  const { configHash: hash } = planOf().status as { readonly configHash: string };
  assert.match(hash, /^[0-9a-f]{16}$/);
  const [one, other] = [
    { type: 'a', b: 1 },
    { b: 1, type: 'a' },
  ].map((spec) => configHash(made('MCPToolConfig', 'x', spec)));
  assert.equal(one, other);
  assert.notEqual(configHash(made('MCPToolConfig', 'x', { type: 'a', b: 2 })), one);
});

test('its status speaks of the generation that was looked at', () => {
  assert.equal(planOf().status?.['observedGeneration'], 3);
});

test('a Secret that it names is reported when it does not exist', () => {
  const bearer = made('MCPExternalAuthConfig', 'login', {
    type: 'bearerToken',
    bearerToken: { tokenSecretRef: { name: 'api', key: 'token' } },
  });
  const secret: KubeObject = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'api', namespace: 'default' } };
  const conditions = (...objects: readonly KubeObject[]): unknown => {
    const bundle = kind.resolve(objectsSource([bearer, ...objects]), keyOf(bearer));
    assert.ok(bundle !== undefined);
    return kind.plan(bundle, DEFAULT_SETTINGS).status?.['conditions'];
  };
  const valid = { type: 'Valid', status: 'True', reason: 'Valid', message: 'whoever refers to it can use it' };
  assert.deepEqual(conditions(), [
    valid,
    {
      type: 'SecretResolved',
      status: 'False',
      reason: 'SecretNotFound',
      message: 'no Secret api in this namespace; create it or change spec.bearerToken.tokenSecretRef',
    },
  ]);
  assert.deepEqual(conditions(secret), [
    valid,
    { type: 'SecretResolved', status: 'True', reason: 'SecretFound', message: 'Secret api' },
  ]);
});

test('a user that comes, or names another one, concerns what it names; a Secret concerns who names it', () => {
  const source = objectsSource([login]);
  const affected = (changed: KubeObject) => kind.affectedBy(source, changed).map(keyText);
  assert.deepEqual(affected(entry('a', ref)), ['MCPExternalAuthConfig/default/login']);
  assert.deepEqual(affected(made('MCPServer', 'a', { ...ref, authServerRef: { name: 'two' } })), [
    'MCPExternalAuthConfig/default/login',
    'MCPExternalAuthConfig/default/two',
  ]);
  assert.deepEqual(affected(made('MCPOIDCConfig', 'a', {})), []);
});

/** Tells how often its spec was looked at. */
const counted = (name: string): { readonly object: KubeObject; readonly looks: () => number } => {
  const { spec, ...rest } = server({ telemetryConfigRef: { name: 'otel' } }, { name });
  let looks = 0;
  const get = (): unknown => {
    looks += 1;
    return spec;
  };
  return {
    object: Object.defineProperty(rest, 'spec', { enumerable: true, get }),
    looks: () => looks,
  };
};

test('500 servers that share a configuration are walked once each, however often it is looked at', () => {
  const telemetry = reconciledKinds().find((each) => each.kind === 'MCPTelemetryConfig');
  const config = made('MCPTelemetryConfig', 'otel', {});
  const servers = Array.from({ length: 500 }, (_, index) => counted(`s${index}`));
  const list = servers.map(({ object }) => object);
  const source = {
    ...objectsSource([config]),
    list: (kindName: string) => (kindName === 'VirtualMCPServer' ? list : []),
  };
  telemetry?.resolve(source, keyOf(config));
  const walked = servers.map(({ looks }) => looks());
  for (let pass = 0; pass < 100; pass += 1) telemetry?.resolve(source, keyOf(config));
  assert.deepEqual(
    servers.map(({ looks }) => looks()),
    walked,
  );
});
