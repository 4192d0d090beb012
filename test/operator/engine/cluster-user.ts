import assert from 'node:assert/strict';
import type { KubeObject } from '../../../operator/object.ts';
import type { PlannedCondition } from '../../../operator/plan/plan.ts';
import { type ApiAccess, until } from '../../cluster/index.ts';
import { countedWrites, untilQuiet } from './operator-under-test.ts';

/** Kind and name of an object for kubectl; in the namespace `default` where a flag says nothing else. */
export type Named = readonly [kind: string, name: string, ...flags: readonly string[]];

/** The object that is named without flags; undefined where there are some, which are kubectl's alone. */
const plainlyNamed = (named: Named): readonly [kind: string, name: string] | undefined => {
  if (named.some((word) => word.startsWith('-'))) return undefined;
  const [kind, name, ...more] = named;
  if (more.length > 0) throw new Error(`${named.join(' ')} is more than one object`);
  return [kind, name];
};

/** In the namespace `default` where none is given. */
export type Placed = readonly [kind: string, name: string, namespace?: string];

/** What the status of any of our kinds may say. */
export interface StatusUnderTest {
  readonly phase?: string;
  readonly message?: string;
  readonly url?: string;
  readonly readyReplicas?: number;
  readonly observedGeneration?: number;
  readonly conditions?: readonly PlannedCondition[];
  readonly backendCount?: number;
  readonly discoveredBackends?: readonly { readonly name: string; readonly message?: string }[];
  readonly entries?: readonly string[];
  readonly configHash?: string;
  readonly oidcConfigHash?: string;
  readonly referenceCount?: number;
  readonly referencingWorkloads?: readonly { readonly kind: string; readonly name: string }[];
  readonly referencingVirtualServers?: readonly string[];
  readonly validationStatus?: string;
  readonly validationErrors?: readonly string[];
}

/** What a user does in a cluster, and what is seen there of the operator. */
export interface ClusterUser {
  readonly kubectl: ApiAccess['kubectl'];
  readonly get: (...placed: Placed) => Promise<KubeObject>;
  /** Server-side, as the only owner of its fields. */
  readonly apply: (...items: readonly object[]) => Promise<unknown>;
  readonly remove: (...named: Named) => Promise<unknown>;
  readonly patch: (named: Named, type: 'json' | 'merge', change: object) => Promise<unknown>;
  /** Of these kinds; of all that a server has, where none are named. */
  readonly childrenOf: (instance: string, kinds?: string) => Promise<readonly KubeObject[]>;
  readonly statusOf: (...placed: Placed) => Promise<StatusUnderTest>;
  /** The first status of the newest generation of which it holds. */
  readonly untilStatus: (
    what: string,
    placed: Placed,
    holds?: (status: StatusUnderTest) => boolean,
  ) => Promise<StatusUnderTest>;
  /** Until the operator has written nothing for so long. */
  readonly untilQuiet: (quietMs?: number) => Promise<unknown>;
  /** The counted writes of the operator, as `verb resource/subresource name`. */
  readonly writes: () => Promise<readonly string[]>;
  /** Those while this is done and until the operator rests. */
  readonly writesDuring: (act: () => Promise<unknown>, quietMs?: number) => Promise<readonly string[]>;
  /** The operator looks at everything that belongs to it, without a reason to write, and writes nothing. */
  readonly assertAtRest: (...named: Named) => Promise<void>;
}

/** The cluster may start later than this is called. */
export const clusterUser = (cluster: () => ApiAccess): ClusterUser => {
  const kubectl: ApiAccess['kubectl'] = (...args) => cluster().kubectl(...args);
  const get = async (...placed: Placed): Promise<KubeObject> => (await cluster().get(...placed)) as KubeObject;
  const writes = async (): Promise<readonly string[]> =>
    (await countedWrites(cluster())).map(
      ({ verb, resource, subresource, name }) => `${verb} ${resource}${subresource && `/${subresource}`} ${name}`,
    );
  const writesDuring: ClusterUser['writesDuring'] = async (act, quietMs) => {
    await untilQuiet(cluster());
    const seen = (await writes()).length;
    await act();
    await untilQuiet(cluster(), quietMs);
    return (await writes()).slice(seen);
  };
  const patch: ClusterUser['patch'] = (named, type, change) => {
    const plain = plainlyNamed(named);
    if (plain) return cluster().patch(plain, type, change);
    return kubectl(['patch', ...named, `--type=${type}`, '-p', JSON.stringify(change)]);
  };
  let touches = 0;
  return {
    kubectl,
    get,
    writes,
    writesDuring,
    apply: (...items) => cluster().apply(...items),
    remove: (...named) => {
      const plain = plainlyNamed(named);
      return plain ? cluster().remove(...plain) : kubectl(['delete', ...named]);
    },
    patch,
    childrenOf: async (instance, kinds = 'sa,svc,cm,deploy') =>
      (await cluster().list(kinds, {
        selector: `app.kubernetes.io/instance=${instance}`,
      })) as readonly KubeObject[],
    statusOf: async (...placed) => (await get(...placed))['status'] ?? {},
    untilStatus: (what, placed, holds = () => true) =>
      until(what, async () => {
        const { metadata, status = {} } = (await get(...placed)) as KubeObject & { readonly status?: StatusUnderTest };
        return status.observedGeneration === metadata.generation && holds(status) ? status : undefined;
      }),
    untilQuiet: (quietMs) => untilQuiet(cluster(), quietMs),
    assertAtRest: async (...named) => {
      const touched = { metadata: { annotations: { touched: `${(touches += 1)}` } } };
      assert.deepEqual(await writesDuring(() => patch(named, 'merge', touched)), []);
    },
  };
};

/** An object of ours in the namespace `default`. */
export const made = (kind: string, name: string, spec: object): object => ({
  apiVersion: 'vmcp.dev/v1beta1',
  kind,
  metadata: { name },
  spec,
});

/** A server of anonymous users in front of the group `tools`. */
export const madeServer = (name: string, spec: object = {}): object =>
  made('VirtualMCPServer', name, { groupRef: { name: 'tools' }, incomingAuth: { type: 'anonymous' }, ...spec });

/** As a quota would that is used up; there is no controller that counts. */
export const refuseNodePorts = async ({ kubectl, patch }: ClusterUser): Promise<void> => {
  await kubectl(['create', 'quota', 'none', '--hard=services.nodeports=0']);
  const none = { 'services.nodeports': '0' };
  await patch(['quota', 'none', '--subresource=status'], 'merge', { status: { hard: none, used: none } });
};

export const conditionIn = ({ conditions }: StatusUnderTest, wanted: string): PlannedCondition | undefined =>
  conditions?.find(({ type }) => type === wanted);

/** `True GroupFound` and its like; undefined where there is no such condition. */
export const verdictIn = (status: StatusUnderTest, wanted: string): string | undefined => {
  const found = conditionIn(status, wanted);
  return found && `${found.status} ${found.reason}`;
};
