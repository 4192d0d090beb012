import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { KubeObject } from '../../operator/object.ts';
import { mountedConfigMap } from '../../operator/plan/server/objects/pod-template.ts';
import { until } from '../cluster/index.ts';
import { clusterUnderTest } from './engine/cluster-under-test.ts';
import { conditionIn, made, madeServer } from './engine/cluster-user.ts';
import { servers } from './engine/operator-under-test.ts';

const cluster = clusterUnderTest(servers);
const { kubectl, get, apply, patch, untilStatus, untilQuiet, writesDuring } = cluster;

const WRITER = 'system:serviceaccount:default:writer';
const vmcp = ['vmcp', 'gw'] as const;

type Data = Readonly<Record<string, string>>;
interface Operation {
  readonly op: 'add' | 'replace' | 'remove' | 'copy';
  readonly from?: string;
  readonly path: string;
  readonly value?: unknown;
}

const deployment = () => get('deployment', 'vmcp-gw');
const mounted = async (): Promise<KubeObject> => get('configmap', mountedConfigMap(await deployment()) ?? '');
const dataOf = ({ data }: KubeObject): Data => data as Data;

/** Who may read and patch ConfigMaps, and no more. */
const meddle = async ({ metadata: { name } }: KubeObject, ...operations: readonly Operation[]): Promise<unknown> =>
  kubectl(['patch', 'configmap', name, '--as', WRITER, '--type=json', '-p', JSON.stringify(operations)]);

const EVIL = 'formatVersion: 1\nbackends:\n- {name: gh, url: "https://evil.example/mcp", transport: streamable-http}\n';
const evil: Operation = { op: 'replace', path: '/data/backends.yaml', value: EVIL };
const disowned: Operation = { op: 'remove', path: '/metadata/ownerReferences' };
const unlabelled: Operation = { op: 'remove', path: '/metadata/labels' };
const finalizer: Operation = { op: 'add', path: '/metadata/finalizers', value: ['evil.example/stays'] };
const ownedBy = (kind: string): Operation => {
  const owner = { apiVersion: 'v1', kind, name: 'none', uid: 'd9607e19-f88f-11e6-a518-42010a800195' };
  return { op: 'replace', path: '/metadata/ownerReferences', value: [{ ...owner, controller: true }] };
};

before(async () => {
  await cluster.ready();
  await kubectl(['create', 'serviceaccount', 'writer']);
  await kubectl(['create', 'role', 'writer', '--verb=get,list,patch', '--resource=configmaps']);
  await kubectl(['create', 'rolebinding', 'writer', '--role=writer', '--serviceaccount=default:writer']);
  await apply(
    made('MCPGroup', 'tools', {}),
    made('MCPServerEntry', 'gh', {
      groupRef: { name: 'tools' },
      remoteUrl: 'https://example.com/mcp',
      transport: 'streamable-http',
    }),
    madeServer('gw'),
  );
  await until('the server', deployment);
  await untilQuiet();
});

/** What pods mount is as the operator wrote it, ours, and live. */
const untilOurs = (wanted: Data): Promise<KubeObject> =>
  until('the config of the operator', async () => {
    const now = await mounted();
    const { ownerReferences = [], labels, deletionTimestamp } = now.metadata;
    const isOurs =
      ownerReferences.length === 1 &&
      ownerReferences[0]?.name === 'gw' &&
      labels?.['app.kubernetes.io/managed-by'] === 'vmcp-operator';
    const isWhole = Object.entries(wanted).every(([key, value]) => dataOf(now)[key] === value);
    return isOurs && isWhole && deletionTimestamp === undefined ? now : undefined;
  });

/** As much as a ConfigMap holds beside it, which no command line does. */
const junk: readonly Operation[] = [
  { op: 'replace', path: '/data', value: { 'config.yaml': '', 'backends.yaml': EVIL, junk: 'x'.repeat(50_000) } },
  ...Array.from({ length: 19 }, (_, index): Operation => ({
    op: 'copy',
    from: '/data/junk',
    path: `/data/junk-${index}`,
  })),
  { op: 'add', path: '/data/rest', value: 'x'.repeat(48_400) },
];

describe('who may patch ConfigMaps and nothing else does not decide what pods are configured with', () => {
  const changes: Readonly<Record<string, readonly Operation[]>> = {
    'takes away the owner': [evil, disowned],
    'takes away the labels': [evil, unlabelled],
    'takes away both': [evil, disowned, unlabelled],
    'gives it to another controller': [evil, ownedBy('Pod')],
    'gives it to another controller, unseen': [evil, ownedBy('Pod'), unlabelled],
    'writes the file as bytes': [
      { op: 'remove', path: '/data/backends.yaml' },
      { op: 'add', path: '/binaryData', value: { 'backends.yaml': Buffer.from(EVIL).toString('base64') } },
      disowned,
    ],
    'leaves no room': junk,
  };
  for (const [what, operations] of Object.entries(changes)) {
    test(`one who ${what}`, async () => {
      const before = await mounted();
      const { spec } = await deployment();
      await meddle(before, ...operations);
      await untilOurs(dataOf(before));
      await untilQuiet();
      assert.deepEqual((await deployment())['spec'], spec);
      assert.deepEqual(Object.keys(dataOf(await mounted())), Object.keys(dataOf(before)));
    });
  }

  const lasting: Readonly<Record<string, readonly Operation[]>> = {
    'makes it immutable': [evil, { op: 'add', path: '/immutable', value: true }],
    'makes it immutable, unseen': [evil, disowned, unlabelled, { op: 'add', path: '/immutable', value: true }],
    'has it collected, and keeps it': [evil, finalizer, ownedBy('Pod')],
  };
  for (const [what, operations] of Object.entries(lasting)) {
    test(`one who ${what}: pods get another one`, async () => {
      const before = await mounted();
      await meddle(before, ...operations);
      const now = await until('another ConfigMap', async () => {
        const each = await mounted();
        return each.metadata.name === before.metadata.name ? undefined : each;
      });
      assert.equal(dataOf(now)['backends.yaml'], dataOf(before)['backends.yaml']);
      await untilQuiet();
      assert.equal((await mounted()).metadata.name, now.metadata.name);
      await cluster.assertAtRest(...vmcp);
    });
  }

  test('what is known of the accepted spec outlives the proof of it, while the newest cannot be served', async () => {
    const before = await mounted();
    await patch(vmcp, 'merge', { spec: { groupRef: { name: 'gone' } } });
    await untilStatus('the reference', vmcp, (status) => conditionIn(status, 'GroupResolved')?.status === 'False');
    for (const unproven of [[evil], [evil, disowned], [evil, disowned, unlabelled]]) {
      await meddle(await mounted(), ...unproven, { op: 'remove', path: '/data/accepted.seal' });
      await untilOurs(dataOf(before));
    }
    await patch(vmcp, 'merge', { spec: { groupRef: { name: 'tools' } } });
  });
});

test('an event tells of what was taken', async () => {
  const list = await kubectl(['get', 'events.events.k8s.io', '-o', 'json']);
  const { items } = JSON.parse(list) as { readonly items: readonly { reason: string; regarding: { name: string } }[] };
  assert.ok(items.some(({ reason, regarding }) => reason === 'ChildTaken' && regarding.name === 'gw'));
});

test('a ConfigMap that was there before anything mounts it is left alone, and nothing mounts it', async () => {
  await writesDuring(() => apply(madeServer('late')));
  const name = mountedConfigMap(await get('deployment', 'vmcp-late')) ?? '';
  await kubectl(['delete', 'vmcp', 'late']);
  await until('its children to go', async () => ((await cluster.childrenOf('late')).length === 0 ? true : undefined));
  await kubectl(['create', 'configmap', name, '--from-literal=mine=1']);
  await apply(madeServer('late'));
  const late = ['vmcp', 'late'] as const;
  const status = await untilStatus('the conflict', late, (now) => conditionIn(now, 'ChildConflict') !== undefined);
  assert.match(conditionIn(status, 'ChildConflict')?.message ?? '', new RegExp(`ConfigMap ${name} exists already`));
  assert.deepEqual((await get('configmap', name))['data'], { mine: '1' });
  await assert.rejects(get('deployment', 'vmcp-late'), /not found/i);
});
