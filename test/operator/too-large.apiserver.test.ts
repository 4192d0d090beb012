import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { systemClock } from '../../runtime/process/system-clock.ts';
import { apiClient } from '../../operator/api/client.ts';
import { isTooLarge, isTooLong } from '../../operator/api/errors.ts';
import { type Connection, connect } from '../../operator/api/kubeconfig.ts';
import { resourceTable } from '../../operator/api/resources.ts';
import { transport } from '../../operator/api/transport.ts';
import { clusterUnderTest } from './engine/cluster-under-test.ts';
import { conditionIn, made, madeServer } from './engine/cluster-user.ts';
import { servers } from './engine/operator-under-test.ts';

const cluster = clusterUnderTest(servers);
const { apply, kubectl, patch, untilStatus, writesDuring } = cluster;
let connection: Connection | undefined;

before(() => cluster.ready());
after(() => connection?.close());

test('what a real API server says of an object that is too large is understood', async () => {
  connection = await connect(cluster.plane.kubeconfig, {});
  const clock = systemClock;
  const client = apiClient(
    transport(connection, { clock, rateLimit: () => Promise.resolve() }),
    resourceTable(servers.resources),
  );
  const errorOf = async (kind: string, content: object): Promise<unknown> => {
    const apiVersion = kind === 'ConfigMap' ? 'v1' : 'vmcp.dev/v1beta1';
    const object = { apiVersion, kind, metadata: { name: 'large', namespace: 'default' }, ...content };
    return client.apply(object, new AbortController().signal).catch((error: unknown) => error);
  };
  const text = (kib: number): string => 'x'.repeat(kib * 1024);
  assert.ok(isTooLong(await errorOf('ConfigMap', { data: { a: text(1100) } })), 'more than a ConfigMap holds');
  for (const kib of [1700, 2300, 3500, 9000]) {
    const error = await errorOf('MCPGroup', { spec: { description: text(kib) } });
    assert.ok(isTooLarge(error), `${kib} KiB: ${String(error)}`);
  }
});

test('a group too large for one server: its status says so, tells what has room, and rests', async () => {
  const entries = Array.from({ length: 700 }, (_, index) =>
    made('MCPServerEntry', `e${index}`, {
      groupRef: { name: 'big' },
      remoteUrl: `https://e.example.com/${'a'.repeat(1990)}`,
      transport: 'streamable-http',
    }),
  );
  const items = [made('MCPGroup', 'big', {}), ...entries];
  await kubectl(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  await untilStatus('all members', ['mcpgroup', 'big'], (status) => status.entries?.length === 700);
  await apply(madeServer('big', { groupRef: { name: 'big' } }));
  const status = await untilStatus(
    'the refusal',
    ['vmcp', 'big'],
    (now) => conditionIn(now, 'ChildRefused') !== undefined,
  );
  assert.equal(conditionIn(status, 'ChildRefused')?.reason, 'TooLarge');
  assert.match(status.message ?? '', /^ConfigMap\/default\/.* is too large; name fewer backends/);
  const shown = status.discoveredBackends?.length ?? 0;
  assert.ok(shown > 150 && shown < 700, `${shown}`);
  assert.match(
    conditionIn(status, 'StatusShortened')?.message ?? '',
    new RegExp(`discoveredBackends names ${shown} of 700`),
  );
  assert.deepEqual(await writesDuring(() => kubectl(['annotate', 'vmcp', 'big', 'touched=1'])), []);
  const change = () => patch(['vmcp', 'big'], 'merge', { spec: { config: { operational: { logLevel: 'debug' } } } });
  const configMap = /vmcp-big-[0-9a-f]+/.exec(status.message ?? '')?.[0];
  assert.deepEqual(
    (await writesDuring(change, 6_000)).filter((write) => !write.endsWith('/status big')),
    [`patch configmaps ${configMap}`],
  );
});
