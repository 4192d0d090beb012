import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { API_GROUP, API_VERSION, kinds } from '../../../crds/index.ts';
import { operatorNamespaceRules, watchedNamespaceRules } from '../../../operator/api/rbac.ts';
import type { Resource } from '../../../operator/api/resources.ts';
import { reconciledKinds } from '../../../operator/kinds/index.ts';
import type { ReconciledKind } from '../../../operator/kinds/kind.ts';
import { runOperator } from '../../../operator/run.ts';
import type { RunOptions, Running } from '../../../operator/run.ts';
import type { ApiAccess, AuditedWrite, Content } from '../../cluster/index.ts';
import { until } from '../../cluster/index.ts';
import { widgetCrd, widgetKind, widgetResource } from './widget.ts';

export const operatorUser = 'system:serviceaccount:vmcp-system:vmcp-operator';

/**
 * What an operator under test reconciles: kinds, where the API server keeps them, and their CRDs (a manifest or a
 * path).
 */
export interface KindsUnderTest {
  readonly kinds: readonly ReconciledKind[];
  readonly resources: readonly Resource[];
  readonly group: string;
  readonly crds: object | string;
}

export const widgets: KindsUnderTest = {
  kinds: [widgetKind],
  resources: [widgetResource],
  group: 'test.vmcp.dev',
  crds: widgetCrd,
};

export const servers: KindsUnderTest = {
  kinds: reconciledKinds(),
  resources: Object.values(kinds).map(({ kind, plural }) => ({ kind, plural, apiVersion: API_VERSION })),
  group: API_GROUP,
  crds: join(import.meta.dirname, '../../../crds/manifests'),
};

/** What an operator needs in a control plane: its account with exactly the rights it names, and the kinds. */
export const contentFor = async (subject: KindsUnderTest): Promise<Content> => {
  const crds = typeof subject.crds === 'string' ? await textsIn(subject.crds) : [JSON.stringify(subject.crds)];
  const items = [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'vmcp-system' } }, ...accountOf(subject)];
  const account = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  return {
    ingredients: [...crds, account],
    put: async (cluster) => {
      await cluster.kubectl(['apply', '--server-side', '-f', '-'], crds.join('\n---\n'));
      await cluster.kubectl(['apply', '-f', '-'], account);
      await untilServed(cluster, subject);
    },
  };
};

const textsIn = async (folder: string): Promise<readonly string[]> =>
  Promise.all((await readdir(folder)).toSorted().map((name) => readFile(join(folder, name), 'utf8')));

/** Puts that into a control plane that lacks it. Answers the path of the operator's kubeconfig. */
export const installOperator = async (cluster: ApiAccess, subject: KindsUnderTest): Promise<string> => {
  await (await contentFor(subject)).put(cluster);
  return operatorKubeconfig(cluster, subject);
};

/** Path of the kubeconfig of an operator that is in the content of the control plane; it serves its kinds by then. */
export const operatorKubeconfig = async (cluster: ApiAccess, subject: KindsUnderTest): Promise<string> => {
  await untilServed(cluster, subject);
  return cluster.kubeconfigFor(await cluster.tokenFor('vmcp-operator', 'vmcp-system'));
};

const untilServed = async (cluster: ApiAccess, subject: KindsUnderTest): Promise<void> => {
  for (const { plural } of subject.resources) {
    await until(`${plural} to be served`, () => cluster.list(plural));
  }
  // It remembers which kinds there are.
  const plurals = subject.resources.map(({ plural }) => `${plural}.${subject.group}`);
  await until('kubectl to know them', () => cluster.kubectl(['get', plurals.join()]));
};

const accountOf = ({ group, kinds, resources }: KindsUnderTest): readonly object[] => {
  const rbac = 'rbac.authorization.k8s.io';
  const metadata = { name: 'vmcp-operator' };
  const own = { ...metadata, namespace: 'vmcp-system' };
  const pluralsOf = (some: readonly ReconciledKind[]): readonly string[] =>
    resources.filter(({ kind }) => some.some((each) => each.kind === kind)).map(({ plural }) => plural);
  const rules = watchedNamespaceRules(group, {
    read: resources.map(({ plural }) => plural),
    reconciled: pluralsOf(kinds),
    owning: pluralsOf(kinds.filter(({ owns }) => owns.length > 0)),
  });
  const binding = (kind: 'ClusterRole' | 'Role'): object => ({
    apiVersion: `${rbac}/v1`,
    kind: `${kind}Binding`,
    metadata: kind === 'Role' ? own : metadata,
    subjects: [{ kind: 'ServiceAccount', ...own }],
    roleRef: { apiGroup: rbac, kind, ...metadata },
  });
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: own },
    { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata, rules },
    { apiVersion: `${rbac}/v1`, kind: 'Role', metadata: own, rules: operatorNamespaceRules },
    binding('ClusterRole'),
    binding('Role'),
  ];
};

export interface Line {
  readonly level: string;
  readonly message: string;
  readonly [field: string]: unknown;
}

export interface OperatorUnderTest extends Running {
  readonly log: readonly Line[];
}

export type OperatorOptionsUnderTest = Partial<
  Pick<RunOptions, 'leaderElection' | 'namespaces' | 'webhook' | 'isDryRun'>
>;

export const startOperatorUnderTest = async (
  kubeconfig: string,
  { kinds, resources }: KindsUnderTest,
  options: OperatorOptionsUnderTest = {},
): Promise<OperatorUnderTest> => {
  const log: Line[] = [];
  const note =
    (level: string) =>
    (fields: unknown, message?: string): void => {
      log.push({ level, ...(typeof fields === 'object' ? fields : {}), message: message ?? String(fields) });
    };
  const running = await runOperator(
    {
      kubeconfig,
      namespaces: [],
      operatorNamespace: 'vmcp-system',
      runtimeImage: 'example.test/vmcp:1',
      bridgeImage: 'example.test/vmcp-operator:1',
      clusterDomain: 'cluster.local',
      healthPort: 0,
      workers: 8,
      leaderElection: false,
      logLevel: 'info',
      isDryRun: false,
      ...options,
    },
    {
      env: {},
      kinds,
      resources,
      log: { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') },
    },
  );
  return { ...running, log };
};

/** What the operator wrote that counts: Leases and Events do not (docs/decisions.md "No write without a reason"). */
export const countedWrites = async (cluster: ApiAccess): Promise<readonly AuditedWrite[]> =>
  (await cluster.writes(operatorUser)).filter(({ resource }) => resource !== 'leases' && resource !== 'events');

/** Waits until the operator has written nothing for `quietMs`; answers all that counts until then. */
export const untilQuiet = async (
  cluster: ApiAccess,
  quietMs = 1500,
  asking?: Parameters<typeof until>[2],
): Promise<readonly AuditedWrite[]> => {
  let [count, since] = [-1, performance.now()];
  return until(
    'the operator to come to rest',
    async () => {
      const writes = await countedWrites(cluster);
      if (writes.length !== count) [count, since] = [writes.length, performance.now()];
      return performance.now() - since > quietMs ? writes : undefined;
    },
    asking,
  );
};
