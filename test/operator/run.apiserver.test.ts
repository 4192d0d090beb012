import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../cluster/index.ts';
import { installedCluster } from './engine/cluster-under-test.ts';
import { bindToNode } from './engine/fake-pod.ts';
import { type OperatorUnderTest, widgets } from './engine/operator-under-test.ts';
import { wireTo } from './engine/wire.ts';

const cluster = installedCluster(widgets);
const { kubectl, get, apply, remove, patch, childrenOf, untilQuiet, writesDuring, startOperator } = cluster;

const widget = (name: string, spec: object) => ({
  apiVersion: 'test.vmcp.dev/v1',
  kind: 'Widget',
  metadata: { name },
  spec,
});

const field = (object: unknown, path: string): unknown =>
  path.split('/').reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], object);

const untilField = (kind: string, name: string, path: string, wanted: unknown): Promise<unknown> =>
  until(`${kind} ${name} to have ${path} = ${String(wanted)}`, async () =>
    field(await get(kind, name), path) === wanted ? true : undefined,
  );

const withoutHash = (write: string): string => write.replace(/-[0-9a-f]{6}$/, '');

describe('an operator that runs', () => {
  let operator: OperatorUnderTest;
  before(async () => {
    operator = await startOperator();
  });
  after(() => operator.stop());

  test('a new resource gets its children and its status, each in one write', async () => {
    const writes = await writesDuring(async () => {
      await apply(widget('first', { greeting: 'hello', replicas: 1 }));
      await untilField('widget', 'first', 'status/phase', 'Ready');
    });
    assert.equal(writes.length, 5, writes.join('\n'));
    assert.equal((await childrenOf('first')).length, 4);
    const status = (await get('widget', 'first'))['status'];
    assert.equal(field(status, 'observedGeneration'), 1);
    assert.equal(field(status, 'conditions/0/reason'), 'InputMissing');
    assert.match(String(field(status, 'conditions/0/lastTransitionTime')), /^\d{4}-.*Z$/);
  });

  test('a changed resource is one write of what changed, and one of the status', async () => {
    const writes = await writesDuring(() => apply(widget('first', { greeting: 'good evening', replicas: 1 })));
    assert.deepEqual(writes.map(withoutHash), ['patch configmaps widget-first', 'patch widgets/status first']);
  });

  test('another writer changes an owned field: it is put back', async () => {
    const account = { spec: { template: { spec: { serviceAccountName: 'default' } } } };
    await patch(['deployment', 'widget-first'], 'merge', account);
    await untilField('deployment', 'widget-first', 'spec/template/spec/serviceAccountName', 'widget-first');
    const port = { op: 'replace', path: '/spec/ports/0/targetPort', value: 9 };
    await patch(['service', 'widget-first'], 'json', [port]);
    await untilField('service', 'widget-first', 'spec/ports/0/targetPort', 'http');
  });

  test('a child that is deleted comes back', async () => {
    await kubectl(['delete', 'service,serviceaccount,deployment', '-l', 'app.kubernetes.io/instance=first']);
    await until('the children', async () => ((await childrenOf('first')).length === 4 ? true : undefined));
  });

  test('what others add is theirs: annotations, a sidecar, a replica count that the resource does not give', async () => {
    await apply(widget('shared', { greeting: 'hello' }));
    await untilField('widget', 'shared', 'status/phase', 'Ready');
    const writes = await writesDuring(async () => {
      await kubectl(['scale', 'deployment', 'widget-shared', '--replicas=3']);
      await kubectl(['annotate', 'deployment', 'widget-shared', 'team=blue']);
      await kubectl(['label', 'service', 'widget-shared', 'team=blue']);
      const sidecar = { name: 'proxy', image: 'example.test/proxy:1' };
      const patch = { spec: { template: { spec: { containers: [sidecar] } } } };
      await kubectl(['patch', 'deployment', 'widget-shared', '--type=strategic', '-p', JSON.stringify(patch)]);
    });
    assert.deepEqual(writes, []);
    const deployment = await get('deployment', 'widget-shared');
    assert.equal(field(deployment, 'spec/replicas'), 3);
    assert.equal((field(deployment, 'spec/template/spec/containers') as readonly unknown[]).length, 2);
  });

  test('a field that is not wanted any more is removed', async () => {
    await apply(widget('shared', { greeting: 'hello', labels: { tier: 'gold' } }));
    await untilField('service', 'widget-shared', 'metadata/labels/tier', 'gold');
    await apply(widget('shared', { greeting: 'hello' }));
    await untilField('service', 'widget-shared', 'metadata/labels/tier', undefined);
    assert.equal(field(await get('service', 'widget-shared'), 'metadata/labels/team'), 'blue');
  });

  test('what the resource refers to may come, change and go', async () => {
    await apply(widget('refers', { greeting: 'hello', inputRef: 'input' }));
    await untilField('widget', 'refers', 'status/conditions/0/status', 'False');
    // Of ConfigMaps only those with the operator's label are watched.
    const metadata = { name: 'input', labels: { 'app.kubernetes.io/managed-by': 'vmcp-operator' } };
    await apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { a: '1' } });
    await untilField('widget', 'refers', 'status/inputKeys', 1);
    await patch(['configmap', 'input'], 'merge', { data: { b: '2' } });
    await untilField('widget', 'refers', 'status/inputKeys', 2);
    await remove('configmap', 'input');
    await untilField('widget', 'refers', 'status/conditions/0/status', 'False');
  });

  test('an event tells of each transition, and of nothing else', async () => {
    const list = await kubectl(['get', 'events.events.k8s.io', '-o', 'json']);
    const events = (JSON.parse(list) as { items: readonly { reason: string; regarding: { name: string } }[] }).items
      .filter(({ regarding }) => regarding.name === 'refers')
      .map(({ reason }) => reason);
    assert.deepEqual(events.toSorted(), ['InputFound', 'InputMissing', 'InputMissing']);
  });

  test("an object of a child's name that is not ours is left alone, a condition names it, and it heals", async () => {
    await kubectl(['create', 'service', 'clusterip', 'widget-taken', '--tcp=1234']);
    await apply(widget('taken', { greeting: 'hello' }));
    await untilField('widget', 'taken', 'status/phase', 'Degraded');
    const { status } = (await get('widget', 'taken')) as unknown as {
      status: { conditions: { type: string; message: string }[] };
    };
    const conflict = status.conditions.find(({ type }) => type === 'ChildConflict');
    assert.match(conflict?.message ?? '', /Service widget-taken exists already.*delete it/);
    assert.equal(field(await get('service', 'widget-taken'), 'spec/ports/0/port'), 1234);
    assert.deepEqual(field(await get('service', 'widget-taken'), 'metadata/ownerReferences'), undefined);
  });

  test('what the API server refuses becomes a condition with its words, and goes when it is mended', async () => {
    await apply(widget('refused', { greeting: 'hello', servicePort: 70_000 }));
    await untilField('widget', 'refused', 'status/phase', 'Degraded');
    const { status } = (await get('widget', 'refused')) as unknown as {
      status: { conditions: { type: string; reason: string; message: string }[] };
    };
    const refused = status.conditions.find(({ type }) => type === 'ChildRefused');
    assert.equal(refused?.reason, 'Invalid');
    assert.match(refused?.message ?? '', /must be between 1 and 65535/);
    await apply(widget('refused', { greeting: 'hello', servicePort: 8080 }));
    await untilField('widget', 'refused', 'status/phase', 'Ready');
    assert.equal((field(await get('widget', 'refused'), 'status/conditions') as readonly unknown[]).length, 1);
  });

  test('an old ConfigMap stays while a ReplicaSet names it and goes with the last one', async () => {
    await apply(widget('rolls', { greeting: 'hello', replicas: 0 }));
    await untilField('widget', 'rolls', 'status/phase', 'Ready');
    const configMaps = async (): Promise<number> => (await childrenOf('rolls', 'configmap')).length;
    await apply(widget('rolls', { greeting: 'hello', replicas: 0, revision: 1 }));
    await until('a second ConfigMap', async () => ((await configMaps()) === 2 ? true : undefined));
    await untilQuiet();
    assert.equal(await configMaps(), 2);
    // Not by age: both may have been made in the same second.
    const first = '{.items[?(@.metadata.annotations.deployment\\.kubernetes\\.io/revision=="1")].metadata.name}';
    const selector = 'app.kubernetes.io/instance=rolls';
    const old = await kubectl(['get', 'rs', '-l', selector, '-o', `jsonpath=${first}`]);
    await remove('rs', old);
    await until('the first ConfigMap to go', async () => ((await configMaps()) === 1 ? true : undefined));
  });

  test('a pod on a node is annotated once when its mounted config changes, so that the kubelet looks at once', async () => {
    await apply(widget('mounted', { greeting: 'hello', replicas: 1 }));
    const pod = await until('the pod', async () => {
      const [first] = await childrenOf('mounted', 'pods');
      return first?.metadata.name;
    });
    await bindToNode(cluster.plane, pod);
    const writes = await writesDuring(() => apply(widget('mounted', { greeting: 'good evening', replicas: 1 })));
    assert.deepEqual(writes.map(withoutHash), [
      'patch configmaps widget-mounted',
      `patch pods ${pod}`,
      'patch widgets/status mounted',
    ]);
    const annotations = (await get('pod', pod)).metadata.annotations;
    assert.match(annotations?.['vmcp.dev/config-hash'] ?? '', /^[0-9a-f]{10}$/);
  });

  test('a deleted resource takes its children with it', async () => {
    await remove('widget', 'rolls');
    await until('its children to go', async () => ((await childrenOf('rolls')).length === 0 ? true : undefined));
  });

  test('nothing is written at rest, nor by an operator that starts anew', async () => {
    const writes = await writesDuring(async () => {
      await operator.stop();
      operator = await startOperator();
      await operator.synced;
    });
    assert.deepEqual(writes, []);
  });
});

describe('an operator whose API server is not always there', () => {
  test('cut watches go on, and an outage is survived without a restart', async () => {
    const wire = await wireTo(cluster.plane, cluster.kubeconfig);
    const operator = await startOperator({}, wire.kubeconfig);
    await operator.synced;
    wire.cut();
    await apply(widget('after-cut', { greeting: 'hello' }));
    await untilField('widget', 'after-cut', 'status/phase', 'Ready');
    await wire.down();
    await apply(widget('after-outage', { greeting: 'hello' }));
    await until('failed attempts', async () => (operator.log.length > 10 ? true : undefined));
    await wire.up();
    await untilField('widget', 'after-outage', 'status/phase', 'Ready');
    await operator.stop();
    await wire.stop();
  });
});

describe('two operators', () => {
  test('one leads; the other takes over at once when it stops, and within 20 s when it is cut off', async () => {
    const wire = await wireTo(cluster.plane, cluster.kubeconfig);
    const [first, second] = [
      await startOperator({ leaderElection: true }),
      await startOperator({ leaderElection: true }, wire.kubeconfig),
    ];
    const leads = ({ log }: OperatorUnderTest): boolean =>
      log.filter(({ message }) => message === 'leading').length >
      log.filter(({ message }) => message === 'no longer leading').length;
    await until('a leader', async () => leads(first) || leads(second) || undefined);
    assert.equal(leads(first) && leads(second), false);
    if (leads(second)) {
      await second.stop();
      await until('the first to lead', async () => leads(first) || undefined, { timeoutMs: 5000 });
    } else {
      await first.stop();
      await until('the second to lead', async () => leads(second) || undefined, { timeoutMs: 5000 });
    }
    const third = await startOperator({ leaderElection: true });
    if (leads(second)) {
      await wire.down();
      await until('the third to lead', async () => leads(third) || undefined, { timeoutMs: 20_000 });
      await until('the cut-off one to stop', async () => !leads(second) || undefined);
      await apply(widget('after-failover', { greeting: 'hello' }));
      await untilField('widget', 'after-failover', 'status/phase', 'Ready');
    }
    await Promise.all([first, second, third].map((operator) => operator.stop()));
    await wire.stop();
  });
});
