import type { ChildProcess } from 'node:child_process';
import { operatorNamespaceRules } from '../../../operator/api/rbac.ts';
import { type ApiAccess, type AuditedWrite, until } from '../../cluster/index.ts';
import { builtProgram } from '../../images/bundle.ts';
import { spawnOperator } from './operator-process.ts';

/** An operator process with an account of its own, so that the API server tells whose a write is. */
export interface Rival {
  readonly process: ChildProcess;
  /** Its counted writes that were taken. */
  readonly writes: () => Promise<readonly AuditedWrite[]>;
  readonly leads: () => boolean;
  /** It knows the cluster. */
  readonly isSynced: () => boolean;
}

/** Replicas of one operator, which looks after one namespace and keeps its Lease there. */
export interface Rivals {
  readonly namespace: string;
  readonly start: (account: string, nodeArgs?: readonly string[]) => Promise<Rival>;
}

export const rivalsIn = async (cluster: ApiAccess, namespace: string): Promise<Rivals> => {
  await cluster.kubectl(['create', 'namespace', namespace]);
  await until('the default account', () => cluster.kubectl(['get', 'sa', 'default', '-n', namespace]));
  return {
    namespace,
    start: async (account, nodeArgs = []) => {
      await makeAccount(cluster, namespace, account);
      const kubeconfig = await cluster.kubeconfigFor(await cluster.tokenFor(account, namespace));
      const flags = { 'operator-namespace': namespace, namespaces: namespace, workers: '1', 'log-level': 'info' };
      const program = await builtProgram('operator/main.ts');
      const process = spawnOperator(kubeconfig, flags, { args: nodeArgs, program, stdout: 'pipe' });
      let told = '';
      process.stdout?.on('data', (chunk: Buffer) => (told += chunk.toString()));
      const timesSaid = (message: string): number => told.split(`"${message}"`).length - 1;
      return {
        process,
        writes: async () =>
          (await cluster.writes(`system:serviceaccount:${namespace}:${account}`)).filter(
            ({ resource, code }) => code < 300 && !UNCOUNTED.has(resource),
          ),
        leads: () => timesSaid('leading') > timesSaid('no longer leading'),
        isSynced: () => timesSaid('every watched kind was listed') > 0,
      };
    },
  };
};

/** The last one asks who one is. */
const UNCOUNTED: ReadonlySet<string> = new Set(['leases', 'events', 'selfsubjectreviews']);

const makeAccount = async ({ apply }: ApiAccess, namespace: string, name: string): Promise<void> => {
  const rbac = 'rbac.authorization.k8s.io';
  const metadata = { name, namespace };
  const binding = (kind: 'ClusterRole' | 'Role', role: string): object => ({
    apiVersion: `${rbac}/v1`,
    kind: `${kind}Binding`,
    metadata: { ...metadata, name: `${namespace}-${name}` },
    subjects: [{ kind: 'ServiceAccount', ...metadata }],
    roleRef: { apiGroup: rbac, kind, name: role },
  });
  const items = [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    { apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules: operatorNamespaceRules },
    binding('Role', name),
    binding('ClusterRole', 'vmcp-operator'),
  ];
  await apply(...items);
};
