import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { access, readFile, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { AUDIT_POLICY, auditLog, type AuditedRequest, type AuditedWrite } from './audit.ts';
import { run } from './command.ts';
import { type Get, type List, readersOf } from './get.ts';
import { asker, resourcesOf } from './resources.ts';
import { type Writers, writersOf } from './write.ts';

/** What a test does with an API server, whichever tier it belongs to. */
export interface ApiAccess extends Writers {
  readonly url: string;
  /** Path of a kubeconfig with all rights. */
  readonly kubeconfig: string;
  /** Path of the certificate that the API server proves itself with. */
  readonly caFile: string;
  readonly adminToken: string;
  /** Path of the private key (PEM) that signs tokens of service accounts. */
  readonly serviceAccountKey: string;
  /** Runs kubectl with all rights; throws with what it wrote to standard error. */
  readonly kubectl: (args: readonly string[], input?: string) => Promise<string>;
  readonly get: Get;
  readonly list: List;
  /**
   * The write requests so far by the API server's audit log, of one user (`system:serviceaccount:<ns>:<name>`) or of
   * all.
   */
  readonly writes: (user?: string) => Promise<AuditedWrite[]>;
  /** All requests so far of an account of `vmcp-system`; a watch counts once it has ended. */
  readonly requests: (user: string) => Promise<AuditedRequest[]>;
  /** Path of a kubeconfig with that token. */
  readonly kubeconfigFor: (token: string) => Promise<string>;
}

/** The files of one control plane, by what they are. */
export const filesIn = (folder: string) => ({
  etcdData: join(folder, 'etcd'),
  etcdSocket: join(folder, 'etcd.sock'),
  certificates: join(folder, 'certificates'),
  caFile: join(folder, 'certificates', 'apiserver.crt'),
  kubeconfig: join(folder, 'kubeconfig'),
  tokens: join(folder, 'tokens.csv'),
  serviceAccountKey: join(folder, 'service-accounts.key'),
  auditPolicy: join(folder, 'audit-policy.yaml'),
  auditLog: join(folder, 'audit.log'),
});

/** Writes what the API server and its clients read, before any of them starts. */
export async function prepareAccess(folder: string, url: string, kubectlProgram: string): Promise<ApiAccess> {
  const { caFile, ...files } = filesIn(folder);
  const adminToken = randomBytes(16).toString('hex');
  const secretFile = (path: string, content: string): Promise<void> => writeFile(path, content, { mode: 0o600 });
  await secretFile(files.tokens, `${adminToken},admin,1,system:masters\n`);
  // A storage that was copied has its own.
  await access(files.serviceAccountKey).catch(() => secretFile(files.serviceAccountKey, newServiceAccountKey()));
  await secretFile(files.kubeconfig, kubeconfigText({ url, caFile, token: adminToken }));
  await writeFile(files.auditPolicy, AUDIT_POLICY);

  const own = { KUBECONFIG: files.kubeconfig, KUBECACHEDIR: join(folder, 'kubectl-cache') };
  // kubectl ends before collecting garbage would pay.
  const env = { ...process.env, ...own, GOGC: '400' };
  const kubectl: ApiAccess['kubectl'] = (args, input) =>
    run(kubectlProgram, args, { env, ...(input === undefined ? {} : { input }) });
  const ask = asker({ url, caFile, adminToken });
  const resourceOf = resourcesOf(ask);
  return {
    url,
    kubeconfig: files.kubeconfig,
    caFile,
    adminToken,
    serviceAccountKey: files.serviceAccountKey,
    kubectl,
    ...readersOf(ask, resourceOf),
    ...writersOf(ask, resourceOf),
    ...auditLog(files.auditLog),
    kubeconfigFor: async (token) => {
      const path = join(folder, `kubeconfig-${randomBytes(4).toString('hex')}`);
      await secretFile(path, kubeconfigText({ url, caFile, token }));
      return path;
    },
  };
}

/** True once the API server is ready; a rejection says why it is not. */
export async function isReady({ url, caFile, adminToken }: ApiAccess): Promise<true> {
  const call = request(new URL('/readyz', url), {
    ca: await readFile(caFile),
    agent: false,
    headers: { authorization: `Bearer ${adminToken}` },
  });
  call.end();
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  response.resume();
  if (response.statusCode !== 200) throw new Error(`/readyz answers ${response.statusCode}`);
  return true;
}

/** JSON, which every reader of YAML takes. */
const kubeconfigText = (access: { readonly url: string; readonly caFile: string; readonly token: string }): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server: access.url, 'certificate-authority': access.caFile } }],
    users: [{ name: 'test', user: { token: access.token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    'current-context': 'test',
  });

const newServiceAccountKey = (): string =>
  generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  }).privateKey;
