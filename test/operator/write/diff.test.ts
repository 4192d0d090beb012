import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubeObject } from '../../../operator/object.ts';
import { agrees } from '../../../operator/write/diff.ts';

const fieldsV1 = {
  'f:metadata': { 'f:labels': { 'f:app': {} } },
  'f:spec': {
    'f:replicas': {},
    'f:selector': {},
    'f:finalizers': { '.': {}, 'v:"a"': {}, 'v:"b"': {} },
    'f:template': {
      'f:spec': {
        'f:containers': {
          'k:{"name":"main"}': {
            '.': {},
            'f:name': {},
            'f:image': {},
            'f:args': {},
            'f:ports': { 'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {} } },
            'f:env': { 'k:{"name":"A"}': { '.': {}, 'f:name': {}, 'f:value': {} } },
            'f:resources': { 'f:limits': { 'f:memory': {} }, 'f:requests': { 'f:cpu': {} } },
          },
        },
        'f:volumes': {
          'k:{"name":"tmp"}': { '.': {}, 'f:name': {}, 'f:emptyDir': {} },
          'k:{"name":"secrets"}': { '.': {}, 'f:name': {}, 'f:projected': { 'f:sources': {} } },
        },
      },
    },
  },
};

/** Path → new value; undefined removes, `-` at the end appends. */
type Edit = Readonly<Record<string, unknown>>;

const edited = <T>(object: T, edit: Edit): T => {
  for (const [path, value] of Object.entries(edit)) {
    const keys = path.split('/');
    const last = keys.pop() ?? '';
    const parent = keys.reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], object);
    if (Array.isArray(parent) && last === '-') {
      parent.push(value);
    } else {
      Object.assign(parent as object, { [last]: value });
    }
  }
  // Through JSON, so that what is undefined is not there at all.
  return JSON.parse(JSON.stringify(object)) as T;
};

/** What we send; a test edits it. */
const desired = (edit: Edit = {}): KubeObject =>
  edited(
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'x', namespace: 'here', labels: { app: 'x' } },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: 'x' } },
        finalizers: ['a', 'b'],
        template: {
          spec: {
            containers: [
              {
                name: 'main',
                image: 'i:1',
                args: ['serve', '-v'],
                ports: [{ containerPort: 80 }],
                env: [{ name: 'A', value: '1.0' }],
                resources: { limits: { memory: '1024Mi' }, requests: { cpu: '0.5' } },
              },
            ],
            volumes: [
              { name: 'tmp', emptyDir: {} },
              { name: 'secrets', projected: { sources: [{ secret: { name: 's' } }] } },
            ],
          },
        },
      },
    },
    edit,
  );

/** What the server keeps of it, with defaults, canonical quantities and things of others; a test edits it. */
const live = (edit: Edit = {}): KubeObject =>
  edited(
    {
      ...desired(),
      metadata: {
        name: 'x',
        namespace: 'here',
        labels: { app: 'x', theirs: 'y' },
        annotations: { theirs: 'y' },
        managedFields: [{ manager: 'vmcp-operator', operation: 'Apply' as const, fieldsV1 }],
      },
      spec: {
        replicas: 2,
        strategy: { type: 'RollingUpdate' },
        selector: { matchLabels: { app: 'x' } },
        finalizers: ['other', 'b', 'a'],
        template: {
          spec: {
            dnsPolicy: 'ClusterFirst',
            containers: [
              { name: 'sidecar', image: 's:1' },
              {
                name: 'main',
                image: 'i:1',
                imagePullPolicy: 'IfNotPresent',
                args: ['serve', '-v'],
                ports: [{ containerPort: 80, protocol: 'TCP' }],
                env: [
                  { name: 'THEIRS', value: '2' },
                  { name: 'A', value: '1.0' },
                ],
                resources: { limits: { memory: '1Gi' }, requests: { cpu: '500m' } },
              },
            ],
            volumes: [
              {
                name: 'secrets',
                projected: { defaultMode: 420, sources: [{ secret: { name: 's', optional: false } }] },
              },
              { name: 'tmp', emptyDir: {} },
            ],
          },
        },
      },
    },
    edit,
  );

const pod = 'spec/template/spec';
const main = `${pod}/containers/0`;
const liveMain = `${pod}/containers/1`;

describe('nothing is sent', () => {
  test('for defaults, foreign labels, sidecars, environment in another order and quantities in another form', () => {
    assert.equal(agrees(desired(), live()), true);
  });

  const harmless: Readonly<Record<string, Edit>> = {
    'somebody else adds a volume': { [`${pod}/volumes/-`]: { name: 'theirs', emptyDir: {} } },
    'somebody else annotates the template': { 'spec/template/metadata': { annotations: { restartedAt: 'now' } } },
    'the status changes': { status: { readyReplicas: 2 } },
  };
  for (const [name, edit] of Object.entries(harmless)) {
    test(`when ${name}`, () => assert.equal(agrees(desired(), live(edit)), true));
  }

  test('for a replica count that we do not name and do not hold', () => {
    const { 'f:replicas': _, ...others } = fieldsV1['f:spec'];
    const entry = { manager: 'vmcp-operator', operation: 'Apply', fieldsV1: { ...fieldsV1, 'f:spec': others } };
    const scaled = live({ 'spec/replicas': 7, 'metadata/managedFields': [entry] });
    assert.equal(agrees(desired({ 'spec/replicas': undefined }), scaled), true);
  });
});

describe('something is sent when another writer changes', () => {
  const drift: Readonly<Record<string, Edit>> = {
    'a scalar': { [`${liveMain}/image`]: 'i:2' },
    'an argument': { [`${liveMain}/args`]: ['serve', '-v', '-x'] },
    'a value of the environment, however alike as a number': { [`${liveMain}/env/1/value`]: '1' },
    'a limit': { [`${liveMain}/resources/limits/memory`]: '2Gi' },
    'a label of ours': { 'metadata/labels/app': 'z' },
    'our element of a list, by removing it': { [`${pod}/volumes`]: [] },
    'our element of a set, by removing it': { 'spec/finalizers': ['other', 'a'] },
    'an atomic map': { 'spec/selector': { matchLabels: { app: 'z' } } },
    'an atomic list, by adding to it': { [`${pod}/volumes/0/projected/sources/-`]: { secret: { name: 't' } } },
    'who holds the fields, so that none is ours': { 'metadata/managedFields': [] },
  };
  for (const [name, edit] of Object.entries(drift)) {
    test(name, () => assert.equal(agrees(desired(), live(edit)), false));
  }

  test('an atomic map, by adding to it: the whole of it is theirs then', () => {
    const { 'f:selector': _, ...others } = fieldsV1['f:spec'];
    const entry = { manager: 'vmcp-operator', operation: 'Apply', fieldsV1: { ...fieldsV1, 'f:spec': others } };
    const selector = { matchLabels: { app: 'x', theirs: 'y' } };
    assert.equal(agrees(desired(), live({ 'spec/selector': selector, 'metadata/managedFields': [entry] })), false);
  });
});

describe('something is sent when we want', () => {
  const wishes: Readonly<Record<string, Edit>> = {
    'another value': { 'spec/replicas': 3 },
    'a field less': { 'spec/replicas': undefined },
    'a label less': { 'metadata/labels': {} },
    'a variable less': { [`${main}/env`]: [] },
    'a variable more': { [`${main}/env/-`]: { name: 'B', value: '2' } },
    'a list that we do not hold yet': { [`${main}/volumeMounts`]: [{ name: 'tmp', mountPath: '/tmp' }] },
    'another port': { [`${main}/ports`]: [{ containerPort: 81 }] },
    'an element of a set less': { 'spec/finalizers': ['a'] },
    'another source in an atomic list': { [`${pod}/volumes/1/projected/sources`]: [{ secret: { name: 't' } }] },
    'another kind of volume under the same name': { [`${pod}/volumes/1`]: { name: 'secrets', emptyDir: {} } },
  };
  for (const [name, edit] of Object.entries(wishes)) {
    test(name, () => assert.equal(agrees(desired(edit), live()), false));
  }
});

for (const [whose, held] of [
  ['ours', { 'f:rules': {} }],
  ["somebody's", {}],
] as const) {
  test(`a Role that is to give no rights differs from one with rules, which are ${whose}`, () => {
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name: 'r' }, rules: [] };
    const managedFields = [{ manager: 'vmcp-operator', operation: 'Apply' as const, fieldsV1: held }];
    const metadata = { ...role.metadata, managedFields };
    const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }];
    assert.equal(agrees(role, { ...role, metadata, rules }), false);
    assert.equal(agrees(role, { ...role, metadata, rules: [] }), true);
    assert.equal(agrees(role, { ...role, metadata, rules: undefined }), true);
  });
}

test('lists of thousands are compared in a moment, in whatever order', () => {
  const backends = Array.from({ length: 4000 }, (_, index) => ({ name: `b${index}`, status: 'ready' }));
  const names = backends.map(({ name }) => name);
  const fields = {
    'f:discoveredBackends': Object.fromEntries(
      names.toReversed().map((name) => [`k:${JSON.stringify({ name })}`, { '.': {}, 'f:name': {}, 'f:status': {} }]),
    ),
    'f:entries': Object.fromEntries(names.map((name) => [`v:${JSON.stringify(name)}`, {}])),
  };
  const entry = {
    manager: 'vmcp-operator',
    operation: 'Apply',
    subresource: 'status',
    fieldsV1: { 'f:status': fields },
  };
  const status = { discoveredBackends: backends, entries: names };
  const base = { apiVersion: 'v1', kind: 'Widget', metadata: { name: 'x' } };
  const stored = { ...base, metadata: { name: 'x', managedFields: [entry] }, status } as KubeObject;
  const beganAt = performance.now();
  const backwards = { discoveredBackends: backends.toReversed(), entries: names.toReversed() };
  assert.equal(agrees({ ...base, status: backwards }, stored, 'status'), true);
  const fewer = { ...status, discoveredBackends: backends.with(7, { name: 'b7', status: 'unknown' }) };
  assert.equal(agrees({ ...base, status: fewer }, stored, 'status'), false);
  assert.ok(performance.now() - beganAt < 1000, 'it took seconds when every element was compared with every other');
});

test('of a status only what we applied to the subresource is compared', () => {
  const status = { phase: 'Ready', conditions: [{ type: 'Ready', status: 'True' }] };
  const held = {
    'f:status': {
      'f:phase': {},
      'f:conditions': { 'k:{"type":"Ready"}': { '.': {}, 'f:type': {}, 'f:status': {} } },
    },
  };
  const entry = { manager: 'vmcp-operator', operation: 'Apply', subresource: 'status', fieldsV1: held };
  const base = { apiVersion: 'v1', kind: 'Widget', metadata: { name: 'x' } };
  const stored = { ...base, metadata: { name: 'x', managedFields: [entry] }, status } as KubeObject;
  assert.equal(agrees({ ...base, status }, stored, 'status'), true);
  assert.equal(agrees({ ...base, status: { phase: 'Ready', conditions: [] } }, stored, 'status'), false);
  assert.equal(agrees({ ...base, status: { ...status, url: 'http://x' } }, stored, 'status'), false);
});
