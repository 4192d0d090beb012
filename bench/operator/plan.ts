import { reconciledKinds } from '../../operator/kinds/index.ts';
import type { KubeObject } from '../../operator/object.ts';
import type { Settings } from '../../operator/plan/settings.ts';
import { objectsSource } from '../../operator/read/source.ts';
import { made, madeServer } from '../../test/operator/engine/cluster-user.ts';

const ROUNDS = 41;

const settings: Settings = {
  clusterDomain: 'cluster.local',
  runtimeImage: 'example.test/vmcp:1',
  bridgeImage: 'example.test/vmcp-operator:1',
  operatorNamespace: 'vmcp-system',
  operatorKeys: [],
};

/**
 * Milliseconds from objects to plan for one server with so many backends, of which one has another URL each time; the
 * median.
 */
export const planMs = (backends: number): number => {
  const kind = reconciledKinds().find((each) => each.kind === 'VirtualMCPServer');
  const objects = [made('MCPGroup', 'big', {}), madeServer('big', { groupRef: { name: 'big' } })].map(asStored);
  const entryAt = (index: number, version: number): KubeObject => {
    const remoteUrl = `https://e${index}.example.com/${version}`;
    return asStored(
      made('MCPServerEntry', `e${index}`, { groupRef: { name: 'big' }, remoteUrl, transport: 'streamable-http' }),
    );
  };
  const entries = Array.from({ length: backends }, (_, index) => entryAt(index, 0));
  const times = Array.from({ length: ROUNDS }, (_, round) => {
    entries[round % backends] = entryAt(round % backends, round + 1);
    const beganAt = performance.now();
    const source = objectsSource([...objects, ...entries]);
    const bundle = kind?.resolve(source, { kind: 'VirtualMCPServer', namespace: 'default', name: 'big' });
    const plan = kind?.plan(bundle, settings);
    if (!plan?.config?.['backends.yaml']?.includes(`/${round + 1}`)) throw new Error('the change was not planned');
    return performance.now() - beganAt;
  });
  return times.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? Number.NaN;
};

const asStored = (object: object): KubeObject => {
  const { metadata, ...rest } = object as KubeObject;
  return { ...rest, metadata: { ...metadata, namespace: 'default', uid: metadata.name } };
};
