import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { KubeObject } from '../../operator/object.ts';
import { startControlPlane, until } from '../cluster/index.ts';
import type { ControlPlane } from '../cluster/index.ts';
import {
  countedWrites,
  installOperator,
  servers,
  startOperatorUnderTest,
  untilQuiet,
} from './engine/operator-under-test.ts';
import type { OperatorUnderTest } from './engine/operator-under-test.ts';

const quickstart = join(import.meta.dirname, '../../examples/quickstart/quickstart.yaml');

let cluster: ControlPlane;
let operator: OperatorUnderTest | undefined;

before(async () => {
  cluster = await startControlPlane();
  operator = await startOperatorUnderTest(await installOperator(cluster, servers), servers);
  await operator.synced;
  await cluster.kubectl(['apply', '--server-side', '-f', quickstart]);
  await until('the children', () => get('deployment', 'vmcp-quickstart'));
  await untilQuiet(cluster);
});
after(async () => {
  await operator?.stop();
  await cluster.stop();
});

const get = async (kind: string, name: string): Promise<KubeObject> =>
  JSON.parse(await cluster.kubectl(['get', kind, name, '-o', 'json'])) as KubeObject;

interface ServiceSpec {
  readonly type: string;
  readonly selector: Readonly<Record<string, string>>;
  readonly ports: readonly { readonly name: string; readonly port: number; readonly nodePort?: number }[];
}

const serviceSpec = async (): Promise<ServiceSpec> => (await get('service', 'vmcp-quickstart'))['spec'] as ServiceSpec;

interface Status {
  readonly phase?: string;
  readonly message?: string;
  readonly url?: string;
  readonly conditions?: readonly { readonly type: string; readonly reason: string; readonly message: string }[];
}

const untilStatus = (name: string, what: string, holds: (status: Status) => boolean): Promise<Status> =>
  until(what, async () => {
    const status: Status = (await get('virtualmcpserver', name))['status'] ?? {};
    return holds(status) ? status : undefined;
  });

const conditionOf = ({ conditions }: Status, wanted: string) => conditions?.find(({ type }) => type === wanted);

const patch = (kind: string, name: string, type: 'json' | 'merge', change: object): Promise<string> =>
  cluster.kubectl(['patch', kind, name, `--type=${type}`, '-p', JSON.stringify(change)]);

/** A look at everything that is there, without a reason to write. */
const assertAtRest = async (): Promise<void> => {
  await untilQuiet(cluster);
  const count = (await countedWrites(cluster)).length;
  await cluster.kubectl(['annotate', 'vmcp', 'quickstart', `touched=${count}`, '--overwrite']);
  await untilQuiet(cluster);
  const since = (await countedWrites(cluster)).slice(count);
  assert.deepEqual(
    since.map(({ verb, resource, subresource, name }) => `${verb} ${resource}/${subresource} ${name}`),
    [],
  );
};

test('a Service whose port was renumbered by hand is put right; what others noted on it stays', async () => {
  await cluster.kubectl(['annotate', 'service', 'vmcp-quickstart', 'team=blue']);
  await cluster.kubectl(['label', 'service', 'vmcp-quickstart', 'team=blue']);
  await patch('service', 'vmcp-quickstart', 'json', [{ op: 'replace', path: '/spec/ports/0/port', value: 80 }]);
  await until('the port', async () => ((await serviceSpec()).ports[0]?.port === 4483 ? true : undefined));
  assert.equal((await serviceSpec()).ports.length, 1);
  await assertAtRest();
  const { labels, annotations } = (await get('service', 'vmcp-quickstart')).metadata;
  assert.deepEqual([labels?.['team'], annotations?.['team']], ['blue', 'blue']);
});

test('one more key in the selector, and one more port, are removed', async () => {
  const { selector } = await serviceSpec();
  await patch('service', 'vmcp-quickstart', 'merge', { spec: { selector: { x: 'y' } } });
  await until('the selector', async () => ('x' in (await serviceSpec()).selector ? undefined : true));
  assert.deepEqual((await serviceSpec()).selector, selector);
  const extra = { name: 'extra', port: 9999, targetPort: 22 };
  await patch('service', 'vmcp-quickstart', 'json', [{ op: 'add', path: '/spec/ports/-', value: extra }]);
  await until('the port to go', async () => ((await serviceSpec()).ports.length === 1 ? true : undefined));
  await assertAtRest();
});

test('the node port that the server gave outlives a repair', async () => {
  await patch('vmcp', 'quickstart', 'merge', { spec: { serviceType: 'NodePort' } });
  const given = await until('a node port', async () => (await serviceSpec()).ports[0]?.nodePort);
  await patch('service', 'vmcp-quickstart', 'json', [{ op: 'replace', path: '/spec/ports/0/port', value: 80 }]);
  await until('the port', async () => ((await serviceSpec()).ports[0]?.port === 4483 ? true : undefined));
  assert.equal((await serviceSpec()).ports[0]?.nodePort, given);
  await assertAtRest();
  await patch('vmcp', 'quickstart', 'merge', { spec: { serviceType: 'ClusterIP' } });
  await until('no node port', async () => ((await serviceSpec()).ports[0]?.nodePort === undefined ? true : undefined));
});

test('a backend that leaves is gone also while the Service is refused, and the status tells it until it is mended', async () => {
  await cluster.kubectl(['create', 'quota', 'none', '--hard=services.nodeports=0']);
  // No controller counts here.
  const counted = JSON.stringify({
    status: { hard: { 'services.nodeports': '0' }, used: { 'services.nodeports': '0' } },
  });
  await cluster.kubectl(['patch', 'quota', 'none', '--subresource=status', '--type=merge', '-p', counted]);
  await patch('vmcp', 'quickstart', 'merge', { spec: { serviceType: 'NodePort' } });
  const status = await untilStatus(
    'quickstart',
    'the refusal',
    (now) => conditionOf(now, 'ChildRefused') !== undefined,
  );
  assert.match(conditionOf(status, 'ChildRefused')?.message ?? '', /vmcp-quickstart.*exceeded quota/);
  assert.equal(conditionOf(status, 'Ready')?.reason, 'ChildRefused');
  assert.match(status.message ?? '', /exceeded quota/);
  await cluster.kubectl(['delete', 'mcpserverentry', 'playwright']);
  await until('the backend to go', async () => {
    const list = await cluster.kubectl([
      'get',
      'configmap',
      '-l',
      'app.kubernetes.io/instance=quickstart',
      '-o',
      'json',
    ]);
    const items = (JSON.parse(list) as { readonly items: readonly KubeObject[] }).items;
    const files = items.map((item) => (item['data'] as Readonly<Record<string, string>>)['backends.yaml'] ?? '');
    return files.length > 0 && files.every((text) => !text.includes('playwright')) ? true : undefined;
  });
  await cluster.kubectl(['delete', 'quota', 'none']);
  await untilStatus('quickstart', 'it to heal', (now) => conditionOf(now, 'ChildRefused') === undefined);
  assert.equal((await serviceSpec()).type, 'NodePort');
});

test('every conflict is told at once; only the Deployment waits, and it comes soon after its account can', async () => {
  await cluster.kubectl(['create', 'serviceaccount', 'vmcp-taken']);
  await cluster.kubectl(['create', 'service', 'clusterip', 'vmcp-taken', '--tcp=1234']);
  const taken = {
    apiVersion: 'vmcp.dev/v1beta1',
    kind: 'VirtualMCPServer',
    metadata: { name: 'taken' },
    spec: { groupRef: { name: 'tools' }, incomingAuth: { type: 'anonymous' } },
  };
  await cluster.kubectl(['apply', '--server-side', '-f', '-'], JSON.stringify(taken));
  const status = await untilStatus('taken', 'the conflicts', (now) => conditionOf(now, 'ChildConflict') !== undefined);
  const { message = '' } = conditionOf(status, 'ChildConflict') ?? {};
  assert.match(message, /ServiceAccount vmcp-taken exists already.*Deployment vmcp-taken waits for it/);
  assert.match(message, /Service vmcp-taken exists already/);
  assert.equal(conditionOf(status, 'Ready')?.reason, 'ChildConflict');
  assert.deepEqual([status.phase, status.message, status.url], ['Failed', message, undefined]);
  const configMaps = await cluster.kubectl(['get', 'cm', '-l', 'app.kubernetes.io/instance=taken', '-o', 'name']);
  assert.match(configMaps, /^configmap\/vmcp-taken-/);
  await assert.rejects(get('deployment', 'vmcp-taken'), /not found/i);
  await cluster.kubectl(['delete', 'serviceaccount', 'vmcp-taken']);
  await until('its Deployment', () => get('deployment', 'vmcp-taken'));
  await cluster.kubectl(['delete', 'service', 'vmcp-taken']);
  const healed = await untilStatus('taken', 'it to heal', (now) => conditionOf(now, 'ChildConflict') === undefined);
  assert.equal(healed.url, 'http://vmcp-taken.default.svc.cluster.local:4483/mcp');
});

test('no reconcile failed on the way', () => {
  assert.deepEqual(
    operator?.log.filter(({ level }) => level !== 'info'),
    [],
  );
});
