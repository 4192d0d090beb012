import { join } from 'node:path';
import { freePortPair } from '../fixtures/ports.ts';
import { filesIn, isReady, prepareAccess, type ApiAccess } from './api-access.ts';
import { apiServerArguments, controllerManagerArguments, etcdArguments } from './control-plane-arguments.ts';
import { newCrew, type Crew, type Daemon } from './daemon.ts';
import { CONTROL_PLANE_PROGRAMS, ensurePrograms } from './programs.ts';
import { scratchFolder } from './scratch.ts';
import { type Content, copyStorage, NOTHING, storageWith } from './storage.ts';
import { until } from './until.ts';

/**
 * A Kubernetes API with its storage and its controllers, and no nodes: everything that the API server decides, is real.
 */
export interface ControlPlane extends ApiAccess {
  /** Kills kube-apiserver without a word and starts it again over the same storage; resolves when it answers. */
  readonly restartApiServer: () => Promise<void>;
  /** Acts while kube-controller-manager stands still; it goes on afterwards. */
  readonly withoutControllers: (act: () => Promise<unknown>) => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** The controllers that answer to what an operator creates; no scheduler, so pods stay pending. */
const CONTROLLERS = [
  'deployment-controller',
  'endpointslice-controller',
  'garbage-collector-controller',
  'namespace-controller',
  'replicaset-controller',
  'root-ca-certificate-publisher-controller',
  'serviceaccount-controller',
  'statefulset-controller',
];

type Programs = Record<(typeof CONTROL_PLANE_PROGRAMS)[number], string>;

/**
 * Starts etcd, kube-apiserver and kube-controller-manager on loopback, over a copy of a storage that has the content;
 * several may run side by side. Needs no root. `more` are arguments of kube-apiserver.
 */
export async function startControlPlane(
  more: readonly string[] = [],
  content: Content = NOTHING,
): Promise<ControlPlane> {
  const programs = await ensurePrograms(CONTROL_PLANE_PROGRAMS);
  const storage = await storageWith(content, Object.values(programs), (folder) =>
    makeStorage(programs, folder, content),
  );
  const scratch = await scratchFolder('control-plane');
  const crew = newCrew();
  const stop = async (): Promise<void> => {
    await crew.stop();
    await scratch.remove();
  };
  try {
    await copyStorage(storage, scratch.path);
    return { ...(await crew.watch(bringUp(programs, { folder: scratch.path, more }, crew))), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A control plane that begins with nothing and ends when it has the content. */
async function makeStorage(programs: Programs, folder: string, { put }: Content): Promise<void> {
  const crew = newCrew();
  try {
    const { etcd, ...access } = await crew.watch(bringUp(programs, { folder, more: [] }, crew));
    await crew.watch(put(access));
    // It writes down what it knows.
    process.kill(etcd.pid, 'SIGTERM');
    await etcd.ended;
  } finally {
    await crew.stop();
  }
}

async function bringUp(
  programs: Programs,
  { folder, more }: { readonly folder: string; readonly more: readonly string[] },
  crew: Crew,
): Promise<Omit<ControlPlane, 'stop'> & { readonly etcd: Daemon }> {
  const start = (name: keyof Programs, args: readonly string[]): Promise<Daemon> =>
    crew.start({ name, program: programs[name], args, logFile: join(folder, `${name}.log`), env });
  // Half as many collections of garbage, for a third more memory (Go, "A Guide to the Go Garbage Collector").
  const env = { ...process.env, GOGC: '200' };
  const files = filesIn(folder);
  const port = await freePortPair();
  const access = await prepareAccess(folder, `https://127.0.0.1:${port}`, programs.kubectl);

  const etcd = await start('etcd', etcdArguments(files));
  const startApiServer = async (): Promise<Daemon> => {
    const daemon = await start('kube-apiserver', [
      // A /24 would hold 254 Services.
      ...apiServerArguments(files, '10.0.0.0/16'),
      `--secure-port=${port}`,
      '--bind-address=127.0.0.1',
      '--advertise-address=127.0.0.1',
      // There is no `kubernetes` Service to keep: loopback addresses are not legal endpoints.
      '--endpoint-reconciler-type=none',
      ...more,
    ]);
    await until('the API server', () => isReady(access));
    return daemon;
  };
  let apiServer = await startApiServer();
  const controllers = await start('kube-controller-manager', [
    ...controllerManagerArguments(files),
    `--controllers=${CONTROLLERS.join(',')}`,
  ]);
  // Pods are refused until their namespace has it.
  await until('the default service account', () => access.get('serviceaccount', 'default'));
  const restartApiServer = async (): Promise<void> => {
    await apiServer.stop();
    apiServer = await startApiServer();
  };
  const withoutControllers = async (act: () => Promise<unknown>): Promise<void> => {
    process.kill(controllers.pid, 'SIGSTOP');
    try {
      await act();
    } finally {
      process.kill(controllers.pid, 'SIGCONT');
    }
  };
  return { ...access, restartApiServer, withoutControllers, etcd };
}
