import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../../operator/object.ts';
import { type Mac, hmacWith, macKeyOf } from '../../../operator/plan/mac.ts';
import type { Plan } from '../../../operator/plan/plan.ts';
import { planServer } from '../../../operator/plan/server/plan-server.ts';
import type { WrittenSpec } from '../../../operator/plan/written-spec.ts';
import { resolveServer } from '../../../operator/read/resolve.ts';
import { objectsSource } from '../../../operator/read/source.ts';
import { DEFAULT_SETTINGS, everythingBuilt } from './golden.ts';
import { SERVER_KEY, entry, group, planned, server, statusOf } from './plan-of-demo.ts';
import { configOf, idp, oidc, planWith, servedBefore } from './plan-with-everything-built.ts';

type Data = Readonly<Record<string, string>>;

const sealedBy = (...secrets: readonly string[]): Mac => {
  const keys = secrets.map(macKeyOf);
  return hmacWith(() => keys);
};
const mac = sealedBy('key');
const planOf = (...objects: readonly KubeObject[]): Plan => planWith({ mac }, ...objects);

const first = planOf(server(), group(), entry('a'));
const [deployment, kept] = servedBefore(first) as [KubeObject, KubeObject];
const data = kept['data'] as Data;
const keeping = (changed: Data): KubeObject => ({ ...kept, data: { ...data, ...changed } });

/** Nobody may serve it. */
const refused = server({ config: { operational: { shiny: true } } }, { generation: 2 });
const whileRefused = (configMap: KubeObject): Plan => planOf(refused, group(), entry('a'), deployment, configMap);

const edited = (text = ''): string => text.replace('"spec":{', '"spec":{"serviceAccount":"admin",');

/** What the operator keeps for another object. */
const elsewhere = (metadata: object): Data =>
  planned(planOf(server({ serviceAccount: 'admin' }, metadata), group(), entry('a')), 'ConfigMap')['data'] as Data;

const withoutSeal: Data = Object.fromEntries(Object.entries(data).filter(([key]) => !key.endsWith('.seal')));

const lost = (plan: Plan): void => {
  assert.equal(plan.objects, undefined);
  assert.equal(statusOf(plan)['phase'], 'Failed');
  assert.match(
    String(statusOf(plan)['message']),
    /the last good spec is lost, its pods are left alone and go by what their ConfigMap says, whoever wrote it$/,
  );
};

test('the spec that the operator kept goes on while the newest is refused', () => {
  const plan = whileRefused(kept);
  assert.deepEqual(planned(plan, 'Deployment'), planned(first, 'Deployment'));
  assert.deepEqual(planned(plan, 'ConfigMap'), planned(first, 'ConfigMap'));
});

const UNPROVEN: readonly (readonly [string, KubeObject])[] = [
  ['edited', keeping({ 'accepted.json': edited(data['accepted.json']) })],
  ['edited by one space', keeping({ 'accepted.json': `${data['accepted.json'] ?? ''} ` })],
  [
    'of another generation',
    keeping({ 'accepted.json': data['accepted.json']?.replace('"generation":1', '"generation":7') ?? '' }),
  ],
  ['of the server of that name that was before', keeping(elsewhere({ uid: 'before' }))],
  ['without a seal', { ...kept, data: withoutSeal }],
  ['with an empty seal', keeping({ 'accepted.seal': '' })],
  ['with the seal of the files', keeping({ 'accepted.seal': data['files.seal'] ?? '' })],
];
for (const [what, configMap] of UNPROVEN) {
  test(`one that is ${what} is not applied, and the status says that it is lost`, () => lost(whileRefused(configMap)));
}

test('one that is earlier than the last that status tells of is not applied, and the status says that it is lost', () => {
  const telling = (acceptedGeneration: number): KubeObject => ({
    ...refused,
    status: { extensions: { acceptedGeneration } },
  });
  const told = (acceptedGeneration: number): Plan =>
    planOf(telling(acceptedGeneration), group(), entry('a'), deployment, kept);
  assert.deepEqual(planned(told(1), 'ConfigMap'), planned(first, 'ConfigMap'));
  assert.equal(told(1).acceptedGeneration, 1);
  lost(told(2));
});

/** In the order of canonical JSON. */
const { name, namespace, uid } = server().metadata;
const OF_DEMO = { kind: 'VirtualMCPServer', name, namespace, uid };

test('one that is of another server, namespace or kind proves nothing', () => {
  const foreign = (other: object): string =>
    mac.sign(JSON.stringify({ 'accepted.json': data['accepted.json'], server: { ...OF_DEMO, ...other } }));
  assert.equal(foreign({}), data['accepted.seal']);
  for (const other of [{ kind: 'MCPServer' }, { name: 'other' }, { namespace: 'other' }]) {
    lost(whileRefused(keeping({ 'accepted.seal': foreign(other) })));
  }
});

test('one of an operator that sealed none is accepted anew once the newest spec can be served, by one write of the ConfigMap', () => {
  const plan = planOf(server(), group(), entry('a'), deployment, { ...kept, data: withoutSeal });
  assert.deepEqual(plan.objects, first.objects);
  assert.deepEqual(planOf(server(), group(), entry('a'), ...servedBefore(plan)).objects, first.objects);
});

test('files that another writer changed are written again, and stand in for nothing that is lost', () => {
  const before = planOf(server(oidc()), group(), idp());
  const [running, whole] = servedBefore(before) as [KubeObject, KubeObject];
  const text = (whole['data'] as Data)['config.yaml'] ?? '';
  const changed = {
    ...whole,
    data: { ...(whole['data'] as Data), 'config.yaml': text.replace('idp.example', 'evil.example') },
  };
  const broken = server({ ...oidc(), config: { operational: { shiny: true } } }, { generation: 2 });
  assert.deepEqual(planOf(broken, group(), idp(), running, changed).config, before.config);
  assert.deepEqual(configOf(planOf(server(oidc()), group(), running, whole)), configOf(before));
  const lostIssuer = planOf(server(oidc()), group(), running, changed);
  assert.equal(lostIssuer.objects, undefined);
  assert.match(String(statusOf(lostIssuer)['message']), /MCPOIDCConfig idp not found/);
});

test('files that were put back from an earlier spec of the same server stand in for nothing either', () => {
  const issuedBy = (issuer: string): KubeObject => idp({ issuer });
  const dataOf = (plan: Plan): Data => planned(plan, 'ConfigMap')['data'] as Data;
  const earlier = dataOf(planOf(server(oidc()), group(), issuedBy('https://former.example')));
  const newest = server({ ...oidc(), serviceAccount: 'own' }, { generation: 2 });
  const [running, whole] = servedBefore(planOf(newest, group(), issuedBy('https://idp.example'))) as [
    KubeObject,
    KubeObject,
  ];
  const { 'accepted.json': text = '', 'accepted.seal': proof = '' } = whole['data'] as Data;
  const mixed = { ...whole, data: { ...earlier, 'accepted.json': text, 'accepted.seal': proof } };
  assert.notEqual(planOf(newest, group(), running, whole).objects, undefined);
  assert.equal(planOf(newest, group(), running, mixed).objects, undefined);
});

test('a key that was replaced is believed as long as it is known, and its work is sealed with the new one', () => {
  const both = sealedBy('new', 'key');
  const plan = planWith({ mac: both }, refused, group(), entry('a'), deployment, kept);
  const { 'accepted.seal': now = '', 'accepted.json': text } = planned(plan, 'ConfigMap')['data'] as Data;
  assert.equal(text, data['accepted.json']);
  assert.notEqual(now, data['accepted.seal']);
  const [, again] = servedBefore(plan) as [KubeObject, KubeObject];
  const fresh = sealedBy('new');
  assert.notEqual(planWith({ mac: fresh }, refused, group(), entry('a'), deployment, again).objects, undefined);
  lost(planWith({ mac: fresh }, refused, group(), entry('a'), deployment, kept));
});

const metadataWith = (object: KubeObject, metadata: object): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, ...metadata },
});

test('what the Deployment mounts is believed by its MAC alone, although its owner and labels were taken away', () => {
  const plan = whileRefused(metadataWith(kept, { ownerReferences: [], labels: {} }));
  assert.deepEqual(planned(plan, 'ConfigMap'), planned(first, 'ConfigMap'));
});

const mountedIn = (plan: Plan): string => planned(plan, 'ConfigMap').metadata.name;

test('in place of one that cannot be put right pods mount another one, for good', () => {
  for (const lasting of [
    { ...kept, immutable: true },
    metadataWith(kept, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
  ]) {
    const plan = planOf(server(), group(), entry('a'), deployment, metadataWith(lasting, { uid: 'lost' }));
    assert.notEqual(mountedIn(plan), mountedIn(first));
    assert.deepEqual(planOf(server(), group(), entry('a'), ...servedBefore(plan)).objects, plan.objects);
  }
});

test('pods of a ReplicaSet that is being replaced get the files of the operator where another writer edited theirs', () => {
  const name = 'vmcp-demo-0123456789';
  const replicaSet: KubeObject = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: 'old',
      namespace: 'default',
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'vmcp-demo', uid: 'd1', controller: true }],
    },
    spec: { replicas: 1, template: { spec: { volumes: [{ name: 'vmcp-config', configMap: { name } }] } } },
  };
  const evil = { 'config.yaml': 'formatVersion: 7\n', 'backends.yaml': 'evil', 'files.seal': 'none' };
  const taken: KubeObject = { ...metadataWith(keeping(evil), { name, ownerReferences: [] }) };
  const plan = planOf(server(), group(), entry('a'), deployment, kept, replicaSet, taken);
  const older = plan.objects?.find(({ metadata }) => metadata.name === name);
  assert.deepEqual(older?.['data'], data);
});

test('while what is known to be accepted cannot be planned, its files are put back where pods mount them', () => {
  const files = { 'config.yaml': data['config.yaml'] ?? '', 'backends.yaml': data['backends.yaml'] ?? '' };
  const repairsOf = (configMap: KubeObject): Plan['repairs'] => {
    const objects = [refused, group(), entry('a'), deployment, configMap];
    // As a newer operator has accepted it.
    const lastVerified = () => ({ generation: 2, written: refused['spec'] as WrittenSpec, files });
    const bundle = resolveServer({ ...objectsSource(objects), lastVerified }, SERVER_KEY, mac);
    assert.ok(bundle !== undefined);
    const plan = planServer(bundle, { settings: { ...DEFAULT_SETTINGS, mac }, contract: everythingBuilt() });
    assert.equal(plan.objects, undefined);
    return plan.repairs;
  };
  assert.deepEqual(repairsOf(kept), []);
  const [repair, ...more] = repairsOf(keeping({ 'backends.yaml': 'evil' })) ?? [];
  assert.deepEqual([repair?.metadata, more], [planned(first, 'ConfigMap').metadata, []]);
  assert.equal((repair?.['data'] as Data | undefined)?.['backends.yaml'], files['backends.yaml']);
});
