import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { valueOf } from '../../../operator/offload/lean-json.ts';
import { readIn } from '../../../operator/threads/read-json.ts';
import { WorkThread } from '../../../operator/threads/work-thread.ts';
import { steadyClock } from '../../../runtime/process/system-clock.ts';
import type { KubeObject } from '../../../operator/object.ts';
import { unreadable } from '../../../operator/validate/index.ts';

const server = (spec: object): object => ({
  apiVersion: 'vmcp.dev/v1beta1',
  kind: 'VirtualMCPServer',
  metadata: { namespace: 'team-a', name: 'a' },
  spec,
});
const huge = { config: { metadata: { text: 'x'.repeat(300_000) } } };

describe('JSON that a tenant has made large', () => {
  const thread = new WorkThread(
    {
      entry: new URL('../../../operator/main.ts', import.meta.url),
      limitMs: 5_000,
      heapMiB: 64,
    },
    steadyClock,
  );
  after(() => thread.stop());
  const asked: string[] = [];
  const read = readIn({
    run: (task, input, tenant) => {
      asked.push(`${task} of ${tenant}`);
      return thread.run(task, input, tenant);
    },
  });

  test('is read beside everything else, on the turn of its namespace', async () => {
    const small = { type: 'ADDED', object: server({}) };
    assert.deepEqual(await read(JSON.stringify(small)), small);
    assert.deepEqual(asked, []);
    const large = { data: 'x'.repeat(200_000), metadata: { namespace: 'team-b' } };
    assert.deepEqual(await read(JSON.stringify(large)), large);
    assert.deepEqual(asked, ['json of ']);
    const bytes = Buffer.from(JSON.stringify({ metadata: { namespace: 'team-c' }, data: `é${large.data}` }));
    assert.deepEqual(await read(bytes), { metadata: { namespace: 'team-c' }, data: `é${large.data}` });
    assert.deepEqual(asked.slice(1), ['json of team-c']);
    assert.deepEqual(await read(Buffer.from('{"a":"é"}')), { a: 'é' });
  });

  test('is an error where it is none, there as here', async () => {
    await assert.rejects(read('{'), SyntaxError);
    await assert.rejects(read('{'.repeat(200_000)), { name: 'SyntaxError', message: /JSON/ });
  });
});

test('of events and lists, whatever their kind, only what is held of an object comes out of it', () => {
  const labels = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`label-${index}`, 'value']));
  const metadata = { name: 'a', namespace: 'b', labels, finalizers: ['a/b'] };
  const bare = { name: 'a', namespace: 'b' };
  const out = (value: unknown) =>
    valueOf(JSON.stringify(value)) as { object: KubeObject; items: readonly KubeObject[] };
  const partial = { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata };
  assert.deepEqual(out({ type: 'ADDED', object: partial }).object, { ...partial, metadata: bare });
  assert.deepEqual(out({ kind: 'PartialObjectMetadataList', items: [{ metadata }] }).items[0]?.metadata, bare);
  const spec = { containers: [{ name: 'c', image: 'i' }], volumes: [{ name: 'v', emptyDir: {} }] };
  const [pod] = out({ kind: 'PodList', items: [{ metadata, spec, status: {} }] }).items;
  assert.deepEqual(pod?.metadata, bare);
  assert.deepEqual(pod?.['spec'], { containers: [{ name: 'c' }], volumes: [] });
  // What is asked for by its name may be needed whole.
  const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { a: 'b' } };
  assert.deepEqual(valueOf(JSON.stringify(configMap)), configMap);
});

test('that an object may be deleted although it is used is not lost with its spec', () => {
  const oldObject = {
    ...server(huge),
    metadata: { name: 'a', annotations: { 'vmcp.dev/allow-delete': 'true', b: 'c' } },
  };
  const { request } = valueOf(JSON.stringify({ request: { oldObject } })) as { request: { oldObject: KubeObject } };
  assert.deepEqual(request.oldObject.metadata.annotations, { 'vmcp.dev/allow-delete': 'true' });
});

test('specs that are not needed do not come out of it: of an object, an event, a list, a review', () => {
  const isWithoutSpec = (object: unknown): boolean =>
    unreadable(object as never)?.conditionReason === 'TooLarge' && JSON.stringify(object).length < 1_000;
  const text = (value: unknown): string => JSON.stringify(value);
  const one = server(huge);
  assert.ok(isWithoutSpec(valueOf(text(one))));
  const event = valueOf(text({ type: 'ADDED', object: one })) as { type: string; object: unknown };
  assert.ok(isWithoutSpec(event.object));
  assert.equal(event.type, 'ADDED');
  const list = valueOf(text({ kind: 'List', metadata: { resourceVersion: '1' }, items: [one, server({})] })) as {
    items: readonly unknown[];
  };
  assert.ok(isWithoutSpec(list.items[0]));
  assert.deepEqual(list.items[1], server({}));
  const review = { kind: 'AdmissionReview', request: { uid: 'u', object: one, oldObject: server({}), options: {} } };
  const { request } = valueOf(text(review)) as typeof review;
  assert.ok(isWithoutSpec(request.object));
  assert.deepEqual({ ...request, object: null }, { ...review.request, object: null });
  // Not ours to judge.
  const foreign = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'd' }, spec: huge };
  assert.deepEqual(valueOf(text(foreign)), foreign);
  for (const odd of [null, 1, 'text', [], { items: [null, 1] }, { object: 'x', request: null }])
    assert.deepEqual(valueOf(text(odd)), odd);
});
