import { ApiError } from '../../../operator/api/errors.ts';
import { trim } from '../../../operator/cache/trim.ts';
import { reconciledKinds } from '../../../operator/kinds/index.ts';
import { type KubeObject, keyOf, keyText } from '../../../operator/object.ts';
import { isControlledBy } from '../../../operator/read/controlled.ts';
import { objectsSource } from '../../../operator/read/source.ts';
import { reconcile } from '../../../operator/reconcile.ts';
import { ServerMutations } from '../../../operator/write/server-mutations.ts';
import { StatusWriteHistory } from '../../../operator/write/status-write-history.ts';
import { UID } from '../plan/fronted-server-objects.ts';
import { everythingBuilt } from '../plan/golden.ts';
import { made } from '../plan/made.ts';
import { report } from '../plan/plan-of-demo.ts';
import { reconcileContextOf } from '../reconcile-context-of.ts';

/** What the API server answers. */
interface Refusal {
  readonly status: number;
  readonly reason?: string;
}

type Labels = Readonly<Record<string, string>>;
interface PodSpec {
  readonly volumes?: readonly { readonly name: string }[];
  readonly containers: readonly { readonly env?: readonly { readonly name: string; readonly value?: string }[] }[];
}
interface ControllerSpec {
  readonly replicas?: number;
  readonly template: { readonly metadata: { readonly labels: Labels }; readonly spec: PodSpec };
}

const specOf = (controller: KubeObject): ControllerSpec => controller['spec'] as ControllerSpec;
const runsPods = ({ kind }: KubeObject): boolean => kind === 'Deployment' || kind === 'StatefulSet';
const carries = (labels: Labels = {}, wanted: Labels): boolean =>
  Object.entries(wanted).every(([key, value]) => labels[key] === value);

/** The runtime asks who calls; a container without it does not. */
export const isRuntime = (pod: KubeObject): boolean =>
  (pod['spec'] as PodSpec).volumes?.some(({ name }) => name === 'vmcp-config') === true;

/** Where the program in this pod answers. */
export const pathIn = (pod: KubeObject): string => {
  const variables = (pod['spec'] as PodSpec).containers.flatMap(({ env = [] }) => env);
  return variables.some(({ name, value }) => name === 'MCP_TRANSPORT' && value === 'sse') ? '/sse' : '/mcp';
};

const UP = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };

/** A cluster with one resource `weather`, whose controllers make pods when they are told to. */
export const oddCluster = (of = 'MCPServer') => {
  const KEY = { kind: of, namespace: 'default', name: 'weather' };
  const kind = reconciledKinds(everythingBuilt()).find((each) => each.kind === of) ?? fail(`no kind ${of}`);
  const objects = new Map<string, KubeObject>();
  const removed: string[] = [];
  const created: string[] = [];
  let writesLeft = Infinity;
  let looks = 0;
  const memory = () => ({
    serverMutations: new ServerMutations(),
    statusWrites: new StatusWriteHistory(() => looks * 10_000),
  });
  let remembered = memory();
  let [count, generation, uid] = [0, 0, UID];
  let refused: ReadonlySet<string> = new Set();
  let refusal: Refusal = { status: 422 };
  let podStatus: object = UP;
  const put = (object: KubeObject): KubeObject => {
    objects.set(keyText(keyOf(object)), object);
    return object;
  };
  /** As the operator's cache holds it, which is all that it sees. */
  const cached = (key: string): KubeObject | undefined => {
    const object = objects.get(key);
    return object && trim(object);
  };
  const all = (of: string): readonly KubeObject[] => [...objects.values()].filter((each) => each.kind === of);
  const server = (): KubeObject => objects.get(keyText(KEY)) ?? fail('there is no server');
  const write = (): void => {
    if (writesLeft === 0) throw new Error('killed');
    writesLeft -= 1;
  };
  const api = {
    get: (key: typeof KEY) => Promise.resolve(objects.get(keyText(key))),
    apply: async (object: KubeObject) => {
      write();
      if (refused.has(object.kind)) throw new ApiError(refusal.status, { ...refusal, message: 'no' });
      const before = objects.get(keyText(keyOf(object)));
      const uid = before?.metadata.uid ?? `uid-${++count}`;
      const status = before?.['status'] === undefined ? {} : { status: before['status'] };
      if (before === undefined) created.push(keyText(keyOf(object)));
      return put({ ...object, metadata: { ...object.metadata, uid }, ...status });
    },
    applyStatus: async ({ status }: KubeObject) => {
      write();
      return put({ ...server(), status });
    },
    list: ({ kind: of }: { readonly kind: string }) => Promise.resolve({ items: all(of), resourceVersion: '0' }),
    remove: async (key: typeof KEY) => {
      write();
      removed.push(`${key.kind} ${key.name}`);
      objects.delete(keyText(key));
    },
  };
  const source = () => ({ ...objectsSource([...objects.values()].map(trim)), reports: () => reports() });
  /** Of runtimes that are up. */
  const reports = () =>
    new Map(
      all('Pod').flatMap((pod) => (isRuntime(pod) ? [[pod.metadata.name, report({ weather: 'ready' })] as const] : [])),
    );
  const look = async (): Promise<void> => {
    looks += 1;
    const context = reconcileContextOf({
      source: source(),
      ...remembered,
      podsOf: () => [],
      pollPods: () => {},
      forget: () => {},
      record: () => Promise.resolve(),
      onStatusRefused: (_, error) => fail(error.message),
      api,
      cache: {
        get: (key) => cached(keyText(key)),
        put,
        controlledBy: (of, owner) =>
          all(of)
            .filter((each) => isControlledBy(each, owner))
            .map(trim),
        list: (of) => all(of).map(trim),
      },
    });
    await reconcile(kind, KEY, context, { signal: new AbortController().signal });
  };
  /**
   * Controllers replace pods by those of the template as it is now, which are ready at once where nothing else is told.
   */
  const roll = (): void => {
    for (const each of [...all('Pod'), ...all('ReplicaSet')]) objects.delete(keyText(keyOf(each)));
    for (const controller of [...objects.values()].filter(runsPods)) start(controller);
  };
  const start = (controller: KubeObject): void => {
    const { replicas = 1, template } = specOf(controller);
    const up = podStatus === UP ? replicas : 0;
    const status = { replicas, readyReplicas: up, availableReplicas: up };
    put({ ...controller, status });
    const { name } = controller.metadata;
    const replicaSet = owned('ReplicaSet', `${name}-rs`, controller, { spec: { replicas, template } });
    if (controller.kind === 'Deployment') put(replicaSet);
    const by = controller.kind === 'Deployment' ? replicaSet : controller;
    for (let ordinal = 0; ordinal < replicas; ordinal += 1) {
      const pod = owned('Pod', `${name}-${ordinal}`, by, {
        spec: template.spec,
        status: podStatus,
      });
      put({ ...pod, metadata: { ...pod.metadata, labels: template.metadata.labels } });
    }
  };
  return {
    removed,
    created,
    objects,
    server,
    look,
    roll,
    put,
    /** What the kubelet says of pods that come from now on. */
    podsAre: (status: object): void => {
      podStatus = status;
    },
    /** Until nothing changes any more. */
    settle: async (): Promise<void> => {
      for (const _ of [1, 2, 3]) {
        await look();
        roll();
      }
      await look();
    },
    /** A look that ends before the write after so many, and a process that takes over; whether it came to that. */
    killedAfter: async (writes: number): Promise<boolean> => {
      writesLeft = writes;
      const isKilled = await look().then(
        () => false,
        (error: Error) => error.message === 'killed' || fail(error.message),
      );
      writesLeft = Infinity;
      remembered = memory();
      return isKilled;
    },
    /** What somebody applies; the API server takes no more children of the kinds that it refuses. */
    ask: (spec: object, refusing: readonly string[] = [], answer: Refusal = { status: 422 }): void => {
      [refused, refusal] = [new Set(refusing), answer];
      const said = objects.get(keyText(KEY))?.['status'];
      const asked = made(of, KEY.name, spec, { uid, generation: ++generation });
      put({ ...asked, ...(said !== undefined && { status: said }) });
      removed.length = 0;
    },
    /** Somebody deletes it and makes it again; its children are collected later. */
    makeAgain: (spec: object): void => {
      uid = `${UID} again`;
      put(made(of, KEY.name, spec, { uid, generation: 1 }));
      removed.length = 0;
    },
    collectGarbage: (): void => {
      for (const [key, { metadata }] of objects)
        if (metadata.ownerReferences?.some((owner) => owner.kind === KEY.kind && owner.uid !== uid))
          objects.delete(key);
    },
    children: (): readonly KubeObject[] => [...objects.values()].filter((each) => isControlledBy(each, server())),
    /** Ready pods that a Service leads to. */
    behind: (name: string): readonly KubeObject[] => {
      const { selector } = (objects.get(`Service/default/${name}`)?.['spec'] ?? {}) as { readonly selector?: Labels };
      return all('Pod').filter((pod) => selector !== undefined && carries(pod.metadata.labels, selector));
    },
  };
};

const owned = (of: string, name: string, by: KubeObject, more: object): KubeObject => ({
  apiVersion: 'v1',
  kind: of,
  metadata: {
    name,
    namespace: 'default',
    uid: `${of} ${name}`,
    ownerReferences: [
      {
        apiVersion: by.apiVersion,
        kind: by.kind,
        name: by.metadata.name,
        uid: by.metadata.uid ?? '',
        controller: true,
      },
    ],
  },
  ...more,
});

const fail = (message: string): never => {
  throw new Error(message);
};
