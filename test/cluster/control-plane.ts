import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { AUDIT_POLICY, readWrites, type AuditedWrite } from './audit.ts';
import { run } from './command.ts';
import { firstToEnd, startDaemon, type Daemon } from './daemon.ts';
import { kubeconfig } from './kubeconfig.ts';
import { CONTROL_PLANE_PROGRAMS, ensurePrograms } from './programs.ts';
import { scratchFolder } from './scratch.ts';
import { until } from './until.ts';

/** A Kubernetes API with its storage and its controllers, and no nodes: everything that the API server decides, is real. */
export interface ControlPlane {
  readonly url: string;
  /** Path of a kubeconfig with all rights. */
  readonly kubeconfig: string;
  /** Path of the certificate that the API server proves itself with. */
  readonly caFile: string;
  readonly adminToken: string;
  /** Runs kubectl with all rights; throws with what it wrote to standard error. */
  readonly kubectl: (args: readonly string[], input?: string) => Promise<string>;
  /** The write requests so far by the API server's audit log, of one user (`system:serviceaccount:<ns>:<name>`) or of all. */
  readonly writes: (user?: string) => Promise<AuditedWrite[]>;
  /** A token of the service account, with exactly its rights. */
  readonly tokenFor: (serviceAccount: string, namespace: string) => Promise<string>;
  /** Path of a kubeconfig with that token. */
  readonly kubeconfigFor: (token: string) => Promise<string>;
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

/** Starts etcd, kube-apiserver and kube-controller-manager on free loopback ports; several may run side by side. Needs no root. */
export async function startControlPlane(): Promise<ControlPlane> {
  const programs = await ensurePrograms(CONTROL_PLANE_PROGRAMS);
  const scratch = await scratchFolder('control-plane');
  const daemons: Daemon[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(daemons.map((daemon) => daemon.stop()));
    await scratch.remove();
  };
  try {
    return { ...(await bringUp(programs, scratch.path, daemons)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function bringUp(programs: Programs, folder: string, daemons: Daemon[]): Promise<Omit<ControlPlane, 'stop'>> {
  const file = (name: string): string => join(folder, name);
  const start = async (name: keyof Programs, args: readonly string[]): Promise<void> => {
    daemons.push(await startDaemon({ name, program: programs[name], args, logFile: file(`${name}.log`) }));
  };
  const adminToken = randomBytes(16).toString('hex');
  const url = `https://127.0.0.1:${await freePort()}`;
  const caFile = file('certificates/apiserver.crt');
  await writeFile(file('tokens.csv'), `${adminToken},admin,1,system:masters\n`, { mode: 0o600 });
  await writeFile(file('service-accounts.key'), serviceAccountKey(), { mode: 0o600 });
  await writeFile(file('audit-policy.yaml'), AUDIT_POLICY);
  await writeFile(file('kubeconfig'), kubeconfig({ url, caFile, token: adminToken }), { mode: 0o600 });

  await start('etcd', etcdArguments(file));
  await start('kube-apiserver', apiServerArguments(file, new URL(url).port));
  const ready = until('the API server', () => isReady(url, caFile, adminToken));
  await Promise.race([ready, firstToEnd(daemons)]);
  await start('kube-controller-manager', controllerManagerArguments(file, caFile));

  const environment = { ...process.env, KUBECONFIG: file('kubeconfig'), KUBECACHEDIR: file('kubectl-cache') };
  const kubectl: ControlPlane['kubectl'] = (args, input) =>
    run(programs.kubectl, args, { env: environment, ...(input === undefined ? {} : { input }) });
  // Pods are refused until their namespace has it.
  await until('the default service account', () => kubectl(['get', 'serviceaccount', 'default']));
  return {
    url,
    kubeconfig: file('kubeconfig'),
    caFile,
    adminToken,
    kubectl,
    writes: (user) => readWrites(file('audit.log'), user),
    tokenFor: async (serviceAccount, namespace) =>
      (await kubectl(['create', 'token', serviceAccount, '--namespace', namespace])).trim(),
    kubeconfigFor: async (token) => {
      const path = file(`kubeconfig-${randomBytes(4).toString('hex')}`);
      await writeFile(path, kubeconfig({ url, caFile, token }), { mode: 0o600 });
      return path;
    },
  };
}

type InFolder = (name: string) => string;

/** Over a Unix socket: one port less to collide. What it advertises is read by other members only, and there are none. */
const etcdArguments = (file: InFolder): string[] => [
  `--data-dir=${file('etcd')}`,
  `--listen-client-urls=unix://${file('etcd.sock')}`,
  '--advertise-client-urls=http://127.0.0.1:2379',
  '--listen-peer-urls=http://127.0.0.1:0',
  '--unsafe-no-fsync',
  '--log-level=error',
];

const apiServerArguments = (file: InFolder, port: string): string[] => [
  `--etcd-servers=unix://${file('etcd.sock')}`,
  `--cert-dir=${file('certificates')}`,
  `--secure-port=${port}`,
  '--bind-address=127.0.0.1',
  '--advertise-address=127.0.0.1',
  // There is no `kubernetes` Service to keep: loopback addresses are not legal endpoints.
  '--endpoint-reconciler-type=none',
  '--service-account-issuer=https://kubernetes.default.svc',
  `--service-account-key-file=${file('service-accounts.key')}`,
  `--service-account-signing-key-file=${file('service-accounts.key')}`,
  '--authorization-mode=RBAC',
  `--token-auth-file=${file('tokens.csv')}`,
  // A /24 would hold 254 Services.
  '--service-cluster-ip-range=10.0.0.0/16',
  '--allow-privileged=true',
  `--audit-policy-file=${file('audit-policy.yaml')}`,
  `--audit-log-path=${file('audit.log')}`,
];

const controllerManagerArguments = (file: InFolder, caFile: string): string[] => [
  `--kubeconfig=${file('kubeconfig')}`,
  `--service-account-private-key-file=${file('service-accounts.key')}`,
  `--root-ca-file=${caFile}`,
  '--use-service-account-credentials=true',
  '--leader-elect=false',
  '--kube-api-qps=300',
  '--kube-api-burst=600',
  '--secure-port=0',
  `--controllers=${CONTROLLERS.join(',')}`,
];

export const serviceAccountKey = (): string =>
  generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  }).privateKey;

/** Free at the time of asking. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** True, or a rejection that says why not yet. */
export async function isReady(url: string, caFile: string, token: string): Promise<true> {
  const ca = await readFile(caFile);
  const call = request(new URL('/readyz', url), { ca, agent: false, headers: { authorization: `Bearer ${token}` } });
  call.end();
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  response.resume();
  if (response.statusCode !== 200) throw new Error(`/readyz answers ${response.statusCode}`);
  return true;
}
