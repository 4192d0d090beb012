import { HOSTILE, hostileObject } from './hostile-object.ts';
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { kinds } from '../../../crds/index.ts';
import { imageSettings } from '../../images/image-settings.ts';
import { cpuMicrosOf, peakOwnOf } from '../../../bench/processes.ts';
import type { KubeObject } from '../../../operator/object.ts';
import { type ControlPlane, startControlPlane, until } from '../../cluster/index.ts';
import { freePortPair } from '../../fixtures/ports.ts';
import { builtProgram } from '../../images/bundle.ts';
import { CONFIGURATION, installWebhook } from '../admission/chart-webhook.ts';
import { kill, spawnOperator } from '../engine/operator-process.ts';
import { contentFor, countedWrites, operatorKubeconfig, servers } from '../engine/operator-under-test.ts';
import { limitMemory } from './memory-limit.ts';
import type { LoopDelay } from './monitor.ts';
import { startProber } from './prober.ts';

/** What other tenants noticed of an attack. */
export interface AttackImpact {
  /** Longest time until a change in another namespace was in its status. */
  readonly canaryMs: number;
  /** Longest time until `/healthz` or `/readyz` answered. */
  readonly probeMs: number;
  /** Of the operator's event loop. */
  readonly delay: LoopDelay;
  /** Longest age of the Lease. */
  readonly leaseMs: number;
  readonly cpuSeconds: number;
  /**
   * Peak of the resident memory since the operator started, without pages of files: those the kernel takes back before
   * it kills a container.
   */
  readonly peakMiB: number;
  /** Counted writes of the operator. */
  readonly writes: number;
  /** Until the operator wrote nothing more. */
  readonly settledMs: number;
}

export interface Answered {
  readonly status: number;
  readonly message: string;
}

/**
 * A control plane with the operator as image and chart have it, webhook, leader election and limit of memory included,
 * beside a namespace that somebody else uses.
 */
export interface Trial {
  readonly plane: ControlPlane;
  /** As a tenant who may write in the namespace `hostile` alone. */
  readonly send: (method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', object: KubeObject, query?: string) => Promise<Answered>;
  /** Any object or list, by its path. */
  readonly get: (path: string) => Promise<object>;
  readonly statusOf: (kind: string, name: string) => Promise<Readonly<Record<string, unknown>>>;
  /** Acts, waits until the operator rests, and tells what others noticed. Throws when the operator has ended. */
  readonly during: (act: () => Promise<unknown>) => Promise<AttackImpact>;
  readonly stop: () => Promise<void>;
}

const CANARY = 'quiet';
/** The chart's limit. */
const MEMORY_MIB = 512;

export const startTrial = async (failurePolicy: 'Fail' | 'Ignore' = 'Fail'): Promise<Trial> => {
  const plane = await startControlPlane([], await contentFor(servers));
  const [healthPort, webhookPort, delayPort] = [await freePortPair(), await freePortPair(), await freePortPair()];
  const program = await builtProgram('operator/main.ts');
  const kubeconfig = await operatorKubeconfig(plane, servers);
  await installWebhook(plane, webhookPort, [`webhook.failurePolicy=${failurePolicy}`, 'webhook.timeoutSeconds=5']);
  const monitor = new URL(`monitor.ts?port=${delayPort}`, import.meta.url);
  const image = await imageSettings('Dockerfile.operator');
  const operator = spawnOperator(
    kubeconfig,
    { 'health-port': String(healthPort), 'webhook-configuration': CONFIGURATION, 'webhook-port': String(webhookPort) },
    { args: [...image.flags, `--import=${monitor.href}`], env: image.env, program },
  );
  const endLimit = await limitMemory(operator.pid ?? 0, MEMORY_MIB);
  const dispatcher = new Agent({
    allowH2: false,
    connect: { ca: await readFile(plane.caFile) },
    headersTimeout: 70_000,
  });
  const stop = async (): Promise<void> => {
    await kill(operator, 'SIGTERM');
    await endLimit();
    await dispatcher.close();
    await plane.stop();
  };
  const admin = clientOf(plane, dispatcher, plane.adminToken);
  try {
    const [tenant, quiet] = [await tenantIn(plane, HOSTILE), await tenantIn(plane, CANARY)];
    const { send } = clientOf(plane, dispatcher, tenant);
    const api = { get: admin.get, send: clientOf(plane, dispatcher, quiet).send };
    await until('the operator to be ready', async () => ((await fetch(readyUrl(healthPort))).ok ? true : undefined));
    for (const object of canaryObjects) assert.ok((await api.send('POST', object)).status < 300);
    await canary(api);
    return {
      plane,
      send,
      get: admin.get,
      statusOf: async (kind, name) => (await admin.get(placeOf(kind, HOSTILE, name)))['status'] ?? {},
      during: (act) => during(act, { plane, operator, api, healthPort, delayPort }),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
};

/**
 * The token of an account that may do anything in a namespace that is made for it, and nothing elsewhere: API Priority
 * and Fairness counts it alone. The account lives elsewhere, so that everything in the namespace can be deleted.
 */
const tenantIn = async (plane: ControlPlane, namespace: string): Promise<string> => {
  const account = { name: `tenant-of-${namespace}`, namespace: 'default' };
  await plane.kubectl(['create', 'namespace', namespace]);
  await plane.kubectl(['create', 'serviceaccount', account.name, '-n', account.namespace]);
  const metadata = { name: 'tenant', namespace };
  const rbac = 'rbac.authorization.k8s.io';
  const items = [
    {
      apiVersion: `${rbac}/v1`,
      kind: 'Role',
      metadata,
      rules: [{ apiGroups: ['', 'apps', 'vmcp.dev'], resources: ['*'], verbs: ['*'] }],
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata,
      subjects: [{ kind: 'ServiceAccount', ...account }],
      roleRef: { apiGroup: rbac, kind: 'Role', name: metadata.name },
    },
  ];
  await plane.apply(...items);
  return plane.tokenFor(account.name, account.namespace);
};

const readyUrl = (port: number): string => `http://127.0.0.1:${port}/readyz`;

interface Api {
  readonly send: Trial['send'];
  readonly get: (path: string) => Promise<KubeObject & { readonly status?: Readonly<Record<string, unknown>> }>;
}

const clientOf = ({ url }: ControlPlane, dispatcher: Agent, token: string): Api => {
  const call = async (method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: object) => {
    const response = await request(new URL(path, url), {
      method,
      dispatcher,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.statusCode, value: (await response.body.json()) as { readonly message?: string } };
  };
  return {
    send: async (method, object, query = '') => {
      const { namespace = HOSTILE, name } = object.metadata;
      const path = placeOf(object.kind, namespace, method === 'POST' ? undefined : name);
      const { status, value } = await call(method, `${path}?${query}`, method === 'DELETE' ? undefined : object);
      return { status, message: value.message ?? '' };
    },
    get: async (path) => (await call('GET', path)).value as KubeObject,
  };
};

const placeOf = (kind: string, namespace: string, name?: string): string => {
  const plural = Object.values(kinds).find((each) => each.kind === kind)?.plural;
  const others = kind === 'Deployment' ? '/apis/apps/v1' : '/api/v1';
  const group = plural === undefined ? others : '/apis/vmcp.dev/v1beta1';
  const path = `${group}/namespaces/${namespace}/${plural ?? `${kind.toLowerCase()}s`}`;
  return name === undefined ? path : `${path}/${name}`;
};

const canaryObjects = [
  hostileObject('MCPGroup', 'tools', {}, { namespace: CANARY }),
  hostileObject(
    'MCPServerEntry',
    'one',
    { groupRef: { name: 'tools' }, remoteUrl: 'https://one.example.com/mcp', transport: 'sse' },
    { namespace: CANARY },
  ),
  hostileObject(
    'VirtualMCPServer',
    'canary',
    { groupRef: { name: 'tools' }, incomingAuth: { type: 'anonymous' } },
    { namespace: CANARY },
  ),
];

/** How long it takes until a change is in the status and in the ConfigMap that is served. */
const canary = async ({ send, get }: Api): Promise<number> => {
  const place = placeOf('VirtualMCPServer', CANARY, 'canary');
  const beganAt = performance.now();
  const default_ = `${1 + (Math.floor(beganAt) % 1_000)}s`;
  const config = { operational: { timeouts: { default: default_ } } };
  const changed = await send('PATCH', hostileObject('VirtualMCPServer', 'canary', { config }, { namespace: CANARY }));
  assert.equal(changed.status, 200, changed.message);
  await until(
    'the canary',
    async () => {
      const { metadata, status = {} } = await get(place);
      return status['observedGeneration'] === metadata.generation ? true : undefined;
    },
    { timeoutMs: 300_000 },
  );
  return performance.now() - beganAt;
};

interface Watched {
  readonly plane: ControlPlane;
  readonly operator: ChildProcess;
  readonly api: Api;
  readonly healthPort: number;
  readonly delayPort: number;
}

const during = async (act: () => Promise<unknown>, watched: Watched): Promise<AttackImpact> => {
  const { plane, operator, api, healthPort, delayPort } = watched;
  const pid = operator.pid ?? 0;
  const loopDelay = async (): Promise<LoopDelay> =>
    (await (await fetch(`http://127.0.0.1:${delayPort}/`)).json()) as LoopDelay;
  const most = { canaryMs: 0, leaseMs: 0 };
  const over = new AbortController();
  const again = async (everyMs: number, measure: () => Promise<void>): Promise<void> => {
    while (!over.signal.aborted) {
      await measure();
      await pause(everyMs);
    }
  };
  const [cpu, writes] = [await cpuMicrosOf(pid), await writesElsewhere(plane)];
  await loopDelay();
  const prober = startProber(healthPort);
  const watching = Promise.all([
    again(1_000, async () => void (most.canaryMs = Math.max(most.canaryMs, await canary(api)))),
    again(1_000, async () => void (most.leaseMs = Math.max(most.leaseMs, await leaseAgeOf(api)))),
  ]);
  const beganAt = performance.now();
  await Promise.race([act(), watching]);
  await Promise.race([untilAtRest(plane), watching]);
  const settledMs = performance.now() - beganAt;
  over.abort();
  await watching;
  assert.equal(operator.exitCode ?? operator.signalCode, null, 'the operator has ended');
  return {
    ...most,
    probeMs: await prober.stop(),
    delay: await loopDelay(),
    cpuSeconds: ((await cpuMicrosOf(pid)) - cpu) / 1e6,
    peakMiB: (await peakOwnOf(pid)) / 2 ** 20,
    writes: (await writesElsewhere(plane)) - writes,
    settledMs,
  };
};

const leaseAgeOf = async ({ get }: Api): Promise<number> => {
  const lease = await get('/apis/coordination.k8s.io/v1/namespaces/vmcp-system/leases/vmcp-operator');
  const { renewTime = '' } = (lease['spec'] ?? {}) as { readonly renewTime?: string };
  return Date.now() - Date.parse(renewTime);
};

/** The canary causes writes all the time: only those elsewhere count. */
const writesElsewhere = async (plane: ControlPlane): Promise<number> =>
  (await countedWrites(plane)).filter(({ namespace }) => namespace !== CANARY).length;

const untilAtRest = async (plane: ControlPlane): Promise<void> => {
  let [count, since] = [-1, performance.now()];
  await until(
    'the operator to come to rest',
    async () => {
      const writes = await writesElsewhere(plane);
      if (writes !== count) [count, since] = [writes, performance.now()];
      return performance.now() - since > 3_000 ? true : undefined;
    },
    { timeoutMs: 300_000, intervalMs: 500 },
  );
};
