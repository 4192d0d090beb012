import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../../operator/object.ts';
import { oddCluster } from './odd-cluster.ts';
import { SHAPES } from './shapes.ts';

type Cluster = ReturnType<typeof oddCluster>;

const INVALID = { podTemplateSpec: { spec: { containers: 5 } } };

const asked = async (cluster: Cluster, spec: object, refusing: readonly string[] = []): Promise<void> => {
  cluster.ask(spec, refusing);
  await cluster.settle();
};

interface Told {
  readonly message: string;
  readonly extensions?: { readonly acceptedGeneration?: number };
}
const told = (cluster: Cluster): Told => cluster.server()['status'] as Told;
const acceptedBy = (cluster: Cluster): number | undefined => told(cluster).extensions?.acceptedGeneration;

const ofKind = (cluster: Cluster, kind: string): readonly KubeObject[] =>
  cluster.children().filter((child) => child.kind === kind);
const runsPods = (cluster: Cluster): readonly unknown[] =>
  ['Deployment', 'StatefulSet'].flatMap((kind) => ofKind(cluster, kind)).map(({ spec }) => spec);

/** What who may write ConfigMaps alone can do: every one of the server has what an earlier one had. */
const putBack = (cluster: Cluster, earlier: KubeObject | undefined): void => {
  for (const each of ofKind(cluster, 'ConfigMap')) {
    cluster.objects.set(`ConfigMap/default/${each.metadata.name}`, { ...each, data: earlier?.['data'] });
  }
};

for (const [shape, spec] of Object.entries(SHAPES).filter(([, each]) => 'rateLimiting' in each)) {
  test(`${shape}: an accepted spec that is put back in the place of a later one is not served`, async () => {
    const cluster = oddCluster();
    await asked(cluster, { image: 'a', ...spec });
    const [earlier] = ofKind(cluster, 'ConfigMap');
    await asked(cluster, { image: 'b', ...spec });
    const running = runsPods(cluster);
    await asked(cluster, { image: 'c', ...spec, ...INVALID });
    assert.deepEqual([acceptedBy(cluster), runsPods(cluster)], [2, running]);
    putBack(cluster, earlier);
    await cluster.settle();
    assert.deepEqual([acceptedBy(cluster), runsPods(cluster)], [2, running]);
    assert.match(
      told(cluster).message,
      /the last good spec is lost, its pods are left alone and go by what their ConfigMap says, whoever wrote it$/,
    );
    await asked(cluster, { image: 'd', ...spec });
    assert.equal(acceptedBy(cluster), 4);
  });

  test(`${shape}: nor one from before it had no clients of its own`, async () => {
    const cluster = oddCluster();
    await asked(cluster, { image: 'a', ...spec });
    const [earlier] = ofKind(cluster, 'ConfigMap');
    await asked(cluster, { image: 'b', transport: 'streamable-http' });
    assert.equal(acceptedBy(cluster), 2);
    for (const kind of ['Deployment', 'StatefulSet']) {
      for (const each of ofKind(cluster, kind)) cluster.objects.delete(`${kind}/default/${each.metadata.name}`);
    }
    cluster.objects.set(`ConfigMap/default/${earlier?.metadata.name ?? ''}`, earlier ?? cluster.server());
    await asked(cluster, { image: 'c', ...spec, ...INVALID });
    assert.deepEqual(runsPods(cluster), []);
  });
}

test('a spec whose pods the API server refuses counts once they are taken', async () => {
  const cluster = oddCluster();
  const spec = SHAPES['fronted http'];
  await asked(cluster, { image: 'a', ...spec });
  await asked(cluster, { image: 'b', ...spec }, ['Deployment']);
  assert.equal(acceptedBy(cluster), 1);
  await asked(cluster, { image: 'b', ...spec });
  assert.equal(acceptedBy(cluster), 3);
});

test('the operator ended after it wrote what it accepted, and before it wrote the status: that is served', async () => {
  const cluster = oddCluster();
  const spec = SHAPES['fronted http'];
  await asked(cluster, { image: 'a', ...spec });
  cluster.ask({ image: 'b', ...spec });
  const { status } = cluster.server();
  await cluster.settle();
  const running = runsPods(cluster);
  cluster.ask({ image: 'c', ...spec, ...INVALID });
  cluster.objects.set('MCPServer/default/weather', { ...cluster.server(), status });
  assert.equal(acceptedBy(cluster), 1);
  await cluster.settle();
  assert.deepEqual([acceptedBy(cluster), runsPods(cluster)], [2, running]);
});

test('a server without a status, as a backup brings it back, is served what the operator kept', async () => {
  const cluster = oddCluster();
  const spec = SHAPES['fronted http'];
  await asked(cluster, { image: 'a', ...spec });
  const running = runsPods(cluster);
  cluster.ask({ image: 'b', ...spec, ...INVALID });
  const { status: _, ...bare }: KubeObject = cluster.server();
  cluster.objects.set('MCPServer/default/weather', bare);
  await cluster.settle();
  assert.deepEqual([acceptedBy(cluster), runsPods(cluster)], [1, running]);
});
