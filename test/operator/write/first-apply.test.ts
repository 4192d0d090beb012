import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../../operator/object.ts';
import { type ApplyDeps, applyChildren } from '../../../operator/write/apply.ts';
import { ServerMutations } from '../../../operator/write/server-mutations.ts';
import { ApplyBackoff } from '../../../operator/write/apply-backoff.ts';

const { signal } = new AbortController();
const child: KubeObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name: 'x',
    namespace: 'n',
    ownerReferences: [{ apiVersion: 'v1', kind: 'Owner', name: 'o', uid: 'u', controller: true }],
  },
};

/** An API server that has one object of that name, or none. */
const applied = async (status: object | undefined, stored: KubeObject | undefined) => {
  const requests: string[] = [];
  const deps: ApplyDeps = {
    api: {
      get: () => {
        requests.push('get');
        return Promise.resolve(stored);
      },
      apply: (object) => {
        requests.push('apply');
        return Promise.resolve(object);
      },
      applyNew: (object) => {
        requests.push('applyNew');
        return Promise.resolve(stored === undefined ? object : undefined);
      },
      mergePatch: () => assert.fail('nothing is patched'),
      remove: () => assert.fail('nothing is removed'),
    },
    cache: { get: () => undefined, put: () => {}, fill: () => {}, controlledBy: () => [] },
    serverMutations: new ServerMutations(),
    applyBackoff: new ApplyBackoff(() => 0),
  };
  const owner = { apiVersion: 'v1', kind: 'Owner', metadata: { name: 'o', namespace: 'n', uid: 'u' } };
  const { problems } = await applyChildren({ ...owner, ...(status && { status }) }, [child], deps, signal);
  return { requests, problems: problems.map(({ type }) => type) };
};

test('what is made for a new resource is made by one request, which takes over nothing', async () => {
  assert.deepEqual(await applied(undefined, undefined), { requests: ['applyNew'], problems: [] });
  // As the API server stores a new one.
  assert.deepEqual(await applied({ observedGeneration: -1, phase: 'Pending' }, undefined), {
    requests: ['applyNew'],
    problems: [],
  });
  const foreign = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', namespace: 'n' } };
  assert.deepEqual(await applied(undefined, foreign), { requests: ['applyNew', 'get'], problems: ['ChildConflict'] });
  const own = { ...child, metadata: { ...child.metadata, uid: 'of-child' } };
  assert.deepEqual(await applied(undefined, own), { requests: ['applyNew', 'get', 'apply'], problems: [] });
});

test('for a resource that has its status, what there is is looked at first', async () => {
  assert.deepEqual(await applied({ conditions: [] }, undefined), { requests: ['get', 'apply'], problems: [] });
});
