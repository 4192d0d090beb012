import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oddCluster } from './odd-cluster.ts';
import { SHAPES } from './shapes.ts';

type Cluster = ReturnType<typeof oddCluster>;

const changed = async (from: object, to: object): Promise<Cluster> => {
  const cluster = oddCluster();
  cluster.ask({ image: 'weather:v1', ...from });
  await cluster.settle();
  cluster.created.length = 0;
  cluster.ask({ image: 'weather:v2', ...to });
  return cluster;
};

/** All that is there, without what only counts up. */
const contentOf = ({ objects }: Cluster): readonly unknown[] =>
  [...objects]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, { metadata, ...rest }]) => [key, metadata.labels, metadata.annotations, rest]);

for (const [before, from] of Object.entries(SHAPES)) {
  for (const [after, to] of Object.entries(SHAPES)) {
    test(`killed before any write that makes ${after} of ${before}, the operator goes on where it was, and makes nothing twice`, async () => {
      const undisturbed = await changed(from, to);
      await undisturbed.settle();
      let writes = 0;
      for (let isKilled = true; isKilled; writes += 1) {
        const cluster = await changed(from, to);
        isKilled = await cluster.killedAfter(writes);
        await cluster.settle();
        assert.deepEqual(contentOf(cluster), contentOf(undisturbed), `after ${writes} writes`);
        assert.equal(new Set(cluster.created).size, cluster.created.length, `after ${writes} writes`);
      }
      assert.ok(writes > 2, 'there was something to write');
    });
  }
}
