import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { before, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { until } from '../cluster/index.ts';
import { clusterUnderTest } from './engine/cluster-under-test.ts';
import { made, madeServer } from './engine/cluster-user.ts';
import { servers } from './engine/operator-under-test.ts';

const cluster = clusterUnderTest(servers);
const { kubectl, get, apply, untilQuiet, writesDuring } = cluster;

const COUNT = 60;
const EACH_BYTES = 900_000;
const MOST_BYTES = 10_000_000;

before(async () => {
  await cluster.ready();
  await kubectl(['create', 'namespace', 'others']);
  await apply(made('MCPGroup', 'tools', {}), madeServer('gw'));
  await until('the server', () => get('deployment', 'vmcp-gw'));
  await untilQuiet();
});

/** What this process, the operator in it, holds after a garbage collection. */
const heldBytes = (): number => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

const foreign = (index: number): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name: `large-${index}`,
    namespace: 'others',
    labels: { 'app.kubernetes.io/managed-by': 'vmcp-operator' },
    annotations: { note: 'x'.repeat(200_000) },
  },
  data: { large: randomBytes((EACH_BYTES / 4) * 3).toString('base64') },
});

/** The operator has seen all that was made until now. */
const untilSeen = async (): Promise<void> => {
  const name = `seen-${randomBytes(4).toString('hex')}`;
  await apply(made('MCPGroup', name, {}));
  await until('the group', async () => ((await get('mcpgroup', name)) as { status?: object }).status);
};

test('ConfigMaps of others take no memory for what they hold, whether labelled as ours or not, nor after a restart', async () => {
  await untilSeen();
  const without = heldBytes();
  for (let index = 0; index < COUNT; index++) await apply(foreign(index));
  await untilSeen();
  const withThem = heldBytes();
  assert.ok(withThem - without < MOST_BYTES, `${COUNT} ConfigMaps take ${withThem - without} bytes`);
  const written = await writesDuring(async () => {
    await cluster.restartOperator();
    await untilSeen();
  });
  const restarted = heldBytes();
  assert.ok(restarted - without < MOST_BYTES, `listed anew, they take ${restarted - without} bytes`);
  // What the pods mount was read, so that there is nothing to write.
  assert.deepEqual(
    written.filter((write) => !write.includes('mcpgroups/status')),
    [],
  );
});
