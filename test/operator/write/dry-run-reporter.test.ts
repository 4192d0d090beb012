import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiClient } from '../../../operator/api/client.ts';
import { ApiError } from '../../../operator/api/errors.ts';
import type { KubeObject } from '../../../operator/object.ts';
import { DryRunReporter } from '../../../operator/write/dry-run-reporter.ts';
import type { DryRunWrite } from '../../../operator/write/dry-run-reporter.ts';
import { onlyGiven } from '../reconcile-context-of.ts';

const signal = new AbortController().signal;

const live: KubeObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'c', namespace: 'here', resourceVersion: '1', labels: { a: 'b' } },
  data: { password: 'hunter1', other: 'same' },
};
const planned: KubeObject = { ...live, data: { password: 'hunter2', other: 'same' } };

const unused = (): never => assert.fail('not asked here');

const rehearsal = (found: KubeObject | undefined = live) => {
  const told: DryRunWrite[] = [];
  const api: ApiClient = {
    clusterIssuer: unused,
    get: unused,
    getMetadata: unused,
    list: unused,
    watch: unused,
    // As the server does: with what it adds by itself.
    apply: (object) =>
      Promise.resolve({ ...object, metadata: { ...object.metadata, resourceVersion: '2', generation: 7 } }),
    applyNew: unused,
    applyStatus: (object) => Promise.resolve(object),
    create: (object) => Promise.resolve(object),
    createOwned: (object) => Promise.resolve(object),
    replace: (object) => Promise.resolve(object),
    mergePatch: () => Promise.reject(new ApiError(403, { message: 'no pods today' })),
    remove: () => Promise.resolve(),
  };
  return { told, rehearsal: new DryRunReporter({ api, live: () => found, onWrite: (write) => told.push(write) }) };
};

test('an update is logged with the paths that change and no value', async () => {
  const bench = rehearsal();
  await bench.rehearsal.run('a', (api) => api.apply(planned, signal));
  const key = { kind: 'ConfigMap', namespace: 'here', name: 'c' };
  assert.deepEqual(bench.told, [{ verb: 'apply', ...key, change: 'update', fields: ['data.password'] }]);
  assert.doesNotMatch(JSON.stringify(bench.told), /hunter/);
});

test('what is not there would be created; what goes would be deleted; a refusal is logged in the words of the server', async () => {
  const created = rehearsal();
  // Nothing is found where the default would be.
  const bare = new DryRunReporter({
    api: onlyGiven<ApiClient>('api', { apply: (object) => Promise.resolve(object) }),
    live: () => undefined,
    onWrite: (write) => created.told.push(write),
  });
  await bare.run('a', (api) => api.apply(planned, signal));
  assert.deepEqual(
    created.told.map(({ change, fields }) => [change, fields]),
    [['create', undefined]],
  );
  const { told, rehearsal: other } = rehearsal();
  const key = { kind: 'Pod', namespace: 'here', name: 'p' };
  await other.run('a', (api) => api.remove(key, 'uid', signal));
  await assert.rejects(other.run('a', (api) => api.mergePatch(key, {}, signal)));
  assert.deepEqual(
    told.map(({ verb, change, refused }) => [verb, change, refused]),
    [
      ['delete', 'delete', undefined],
      ['patch', 'update', 'no pods today'],
    ],
  );
});

test('a write is logged once while it stays due, again when it is another one, and anew after it was not', async () => {
  const { told, rehearsal: subject } = rehearsal();
  const reconcile = (...objects: readonly KubeObject[]): Promise<void> =>
    subject.run('a', async (api) => {
      for (const object of objects) await api.apply(object, signal);
    });
  await reconcile(planned);
  await reconcile(planned);
  assert.equal(told.length, 1);
  await reconcile({ ...planned, data: { password: 'hunter3', other: 'same' } });
  assert.equal(told.length, 2);
  await reconcile();
  await reconcile(planned);
  assert.equal(told.length, 3);
});

test('an attempt that fails does not make what came before or would come after it be logged again', async () => {
  const { told, rehearsal: subject } = rehearsal();
  const other = { ...planned, metadata: { ...planned.metadata, name: 'd' } };
  const all = (api: ApiClient): Promise<unknown> => api.apply(planned, signal).then(() => api.apply(other, signal));
  await subject.run('a', all);
  await assert.rejects(
    subject.run('a', async (api) => {
      await api.apply(planned, signal);
      throw new Error('connect ECONNREFUSED');
    }),
  );
  await subject.run('a', all);
  assert.equal(told.length, 2);
});

test('the times in a status and the names of events make no new ones of them', async () => {
  const { told, rehearsal: subject } = rehearsal();
  for (const time of ['10:00', '10:01']) {
    const event = {
      ...live,
      kind: 'Event',
      metadata: { name: `x.${time}` },
      reason: 'Ready',
      regarding: { name: 'x' },
    };
    await subject.run('a', async (api) => {
      await api.applyStatus({ ...live, status: { conditions: [{ type: 'Ready', lastTransitionTime: time }] } }, signal);
      await api.create(event, signal);
    });
  }
  assert.deepEqual(
    told.map(({ kind, name, subresource, reason }) => [kind, name, subresource ?? reason]),
    [
      ['ConfigMap', 'c', 'status'],
      ['Event', 'x', 'Ready'],
    ],
  );
});

test('a new object that finds one of its name is not logged: nothing would be written', async () => {
  const told: DryRunWrite[] = [];
  const answers = [undefined, planned];
  const bench = new DryRunReporter({
    api: onlyGiven<ApiClient>('api', { applyNew: () => Promise.resolve(answers.shift()) }),
    live: () => undefined,
    onWrite: (write) => told.push(write),
  });
  await bench.run('a', (api) => api.applyNew(planned, signal));
  assert.deepEqual(told, []);
  await bench.run('a', (api) => api.applyNew(planned, signal));
  assert.deepEqual(
    told.map(({ verb, change }) => [verb, change]),
    [['apply', 'create']],
  );
});
