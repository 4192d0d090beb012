import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../../operator/api/errors.ts';
import type { KubeObject } from '../../../operator/object.ts';
import { type ApplyDeps, applyChildren } from '../../../operator/write/apply.ts';
import { ServerMutations } from '../../../operator/write/server-mutations.ts';
import { ApplyBackoff } from '../../../operator/write/apply-backoff.ts';
import { withApplyNew } from './apply-new.ts';

const { signal } = new AbortController();
const owner: KubeObject = { apiVersion: 'v1', kind: 'Owner', metadata: { name: 'o', namespace: 'n', uid: 'u' } };

const child = (kind: string, name: string, content: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: {
    name,
    namespace: 'n',
    ownerReferences: [{ apiVersion: 'v1', kind: 'Owner', name: 'o', uid: 'u', controller: true }],
  },
  ...content,
});
const pods = (labels: object, spec: object = {}) => ({ spec: { template: { metadata: { labels }, spec } } });

/** Which children are applied where one is somebody else's and another is refused. */
const appliedOf = async (
  children: readonly KubeObject[],
  { foreign, refused }: { readonly foreign?: string; readonly refused?: string },
): Promise<readonly [applied: readonly string[], told: string]> => {
  const applied: string[] = [];
  const api: Omit<ApplyDeps['api'], 'applyNew'> = {
    get: ({ kind }) =>
      Promise.resolve(
        kind === foreign ? { apiVersion: 'v1', kind, metadata: { name: 'x', namespace: 'n' } } : undefined,
      ),
    apply: (object) => {
      if (object.kind === refused) return Promise.reject(new ApiError(403, { message: 'no' }));
      applied.push(object.kind);
      return Promise.resolve(object);
    },
    mergePatch: () => assert.fail('nothing is patched'),
    remove: () => assert.fail('nothing is removed'),
  };
  const deps: ApplyDeps = {
    api: withApplyNew(api),
    cache: { get: () => undefined, put: () => {}, fill: () => {}, controlledBy: () => [] },
    serverMutations: new ServerMutations(),
    applyBackoff: new ApplyBackoff(() => 0),
  };
  const { problems } = await applyChildren(owner, children, deps, signal);
  return [applied, problems.map(({ message }) => message).join('; ')];
};

test('no account is bound to a Role of another owner; the rest is made', async () => {
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'x' };
  const [applied, told] = await appliedOf(
    [child('Role', 'x'), child('RoleBinding', 'x', { roleRef }), child('Service', 'x')],
    { foreign: 'Role' },
  );
  assert.deepEqual(applied, ['Service']);
  assert.match(told, /RoleBinding x waits for it/);
});

test('a pod that attaches to itself waits until it may', async () => {
  const subjects = [{ kind: 'ServiceAccount', name: 'a', namespace: 'n' }];
  const binding = child('RoleBinding', 'x', { roleRef: { kind: 'Role', name: 'x' }, subjects });
  const children = [child('Role', 'x'), binding, child('StatefulSet', 'x', pods({}, { serviceAccountName: 'a' }))];
  assert.deepEqual(await appliedOf(children, {}).then(([applied]) => applied), ['Role', 'RoleBinding', 'StatefulSet']);
  assert.deepEqual(await appliedOf(children, { refused: 'Role' }).then(([applied]) => applied), []);
});

test('pods wait for the policy that says who may reach them, and only those it selects', async () => {
  const policy = child('NetworkPolicy', 'x', { spec: { podSelector: { matchLabels: { part: 'behind' } } } });
  const children = [
    policy,
    child('StatefulSet', 'x', pods({ part: 'behind' })),
    child('Deployment', 'y', pods({ part: 'front' })),
  ];
  assert.deepEqual(await appliedOf(children, {}).then(([applied]) => applied), [
    'NetworkPolicy',
    'StatefulSet',
    'Deployment',
  ]);
  const [applied, told] = await appliedOf(children, { refused: 'NetworkPolicy' });
  assert.deepEqual(applied, ['Deployment']);
  assert.match(told, /StatefulSet x waits for it/);
});

test('pods wait for their account and for what they mount', async () => {
  const volumes = [{ name: 'c', configMap: { name: 'x' } }];
  for (const [kind, spec] of [
    ['ServiceAccount', { serviceAccountName: 'x' }],
    ['ConfigMap', { volumes }],
  ] as const) {
    const children = [child(kind, 'x'), child('Deployment', 'x', pods({}, spec))];
    assert.deepEqual(await appliedOf(children, { refused: kind }).then(([applied]) => applied), [], kind);
  }
});
