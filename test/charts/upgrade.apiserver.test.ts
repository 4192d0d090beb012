import assert from 'node:assert/strict';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { parse, stringify } from 'yaml';
import { helm, startControlPlane, until, type ControlPlane } from '../cluster/index.ts';
import { scratchFolder } from '../cluster/scratch.ts';
import { quickstart } from '../operator/engine/cluster-under-test.ts';
import { clusterUser } from '../operator/engine/cluster-user.ts';
import { servers, startOperatorUnderTest, type OperatorUnderTest } from '../operator/engine/operator-under-test.ts';
import { CHART } from './rendered.ts';

const NAMESPACE = ['--namespace', 'vmcp-system'];
const CRDS = ['get', 'crd', '--selector', 'app.kubernetes.io/part-of=vmcp', '--output', 'name'];

/** One story in the order in which a stranger lives it; each test needs the ones before it. */
describe('the chart, as a new user installs it', () => {
  let cluster: ControlPlane;
  let operator: OperatorUnderTest;
  let scratch: Awaited<ReturnType<typeof scratchFolder>>;
  let nextChart: string;

  before(async () => {
    cluster = await startControlPlane();
    scratch = await scratchFolder('next-chart');
    nextChart = join(scratch.path, 'vmcp-operator');
    await cp(CHART, nextChart, { recursive: true });
    await addField(join(nextChart, 'files/crds/mcpgroups.vmcp.dev.yaml'));
  });
  after(async () => {
    await operator?.stop();
    await cluster?.stop();
    await scratch?.remove();
  });

  const release = (verb: 'install' | 'upgrade', chart: string, ...more: readonly string[]): Promise<string> =>
    helm([verb, 'vmcp-operator', chart, ...NAMESPACE, '--set', 'webhook.enabled=false', ...more], cluster.kubeconfig);

  const uninstall = (): Promise<string> => helm(['uninstall', 'vmcp-operator', ...NAMESPACE], cluster.kubeconfig);

  /** In place of the pod that no node runs: with its account, and so with exactly what the chart grants. */
  const startAsThePod = async (): Promise<void> => {
    await cluster.kubectl(['wait', 'crd', '--all', '--for', 'condition=Established', '--timeout', '10s']);
    const kubeconfig = await cluster.kubeconfigFor(await cluster.tokenFor('vmcp-operator', 'vmcp-system'));
    operator = await startOperatorUnderTest(kubeconfig, servers, { leaderElection: true });
    await operator.synced;
  };

  const field = (kind: string, name: string, path: string): Promise<string> =>
    cluster.kubectl(['get', kind, name, '--output', `jsonpath={${path}}`]);

  const untilField = (kind: string, name: string, path: string, wanted: string): Promise<true> =>
    until(`${kind} ${name} to have ${path} ${wanted}`, async () =>
      (await field(kind, name, path)) === wanted ? true : undefined,
    );

  const setField = (kind: string, name: string, spec: object): Promise<string> =>
    cluster.kubectl(['patch', kind, name, '--type=merge', '--patch', JSON.stringify({ spec })]);

  test('installs it, applies the quickstart, and every child is there', async () => {
    await release('install', CHART, '--create-namespace');
    await startAsThePod();
    await cluster.kubectl(['apply', '--server-side', '-f', quickstart]);
    await untilField('virtualmcpserver', 'quickstart', '.status.phase', 'Pending');
    await until('the Deployment', () => field('deployment', 'vmcp-quickstart', '.metadata.uid'));
  });

  test('changes the server, and the change takes effect', async () => {
    await setField('virtualmcpserver', 'quickstart', { replicas: 2 });
    await untilField('deployment', 'vmcp-quickstart', '.spec.replicas', '2');
  });

  /** Whether the API server keeps the field of the later version; nothing is stored. */
  const isServed = async (): Promise<boolean> => {
    const patch = ['--type=merge', '--patch', '{"spec":{"colour":"blue"}}', '--dry-run=server'];
    const output = ['--output', 'jsonpath={.spec.colour}'];
    return (await cluster.kubectl(['patch', 'mcpgroup', 'tools', ...patch, ...output])) === 'blue';
  };

  test('upgrades to a chart with a new field: it is served, and nothing is written to what was there', async () => {
    assert.equal(await isServed(), false);
    const writes = await clusterUser(() => cluster).writesDuring(async () => {
      await release('upgrade', nextChart);
      await until('the field to be served', async () => (await isServed()) || undefined);
    });
    assert.deepEqual(writes, []);
    await setField('virtualmcpserver', 'quickstart', { replicas: 3 });
    await untilField('deployment', 'vmcp-quickstart', '.spec.replicas', '3');
  });

  test('finds no failure in the operator’s log; the API server ends the watches of a CRD that changes', () => {
    assert.deepEqual(
      operator.log.filter(({ level, message }) => level !== 'info' && message !== 'watch interrupted'),
      [],
    );
  });

  test('uninstalls it: the operator, its rights and what it made for itself go, CRDs, resources and servers stay', async () => {
    await operator.stop();
    await setField('mcpgroup', 'tools', { colour: 'blue' });
    await uninstall();
    const gone = ['get', 'deployment,role,rolebinding,serviceaccount', ...NAMESPACE, '--output', 'name'];
    assert.equal((await cluster.kubectl(gone)).trim(), 'serviceaccount/default');
    await assert.rejects(cluster.kubectl(['get', 'clusterrole', 'vmcp-operator']), /not found/);
    // What the operator made for itself goes with its account.
    await until('its Secrets and its Lease to go', async () =>
      (await cluster.kubectl(['get', 'secret,lease', ...NAMESPACE, '--output', 'name'])).includes('vmcp-operator')
        ? undefined
        : true,
    );
    assert.equal((await cluster.kubectl(CRDS)).trim().split('\n').length, servers.resources.length);
    assert.equal(await field('mcpgroup', 'tools', '.spec.colour'), 'blue');
    assert.equal(await field('deployment', 'vmcp-quickstart', '.spec.replicas'), '3');
  });

  test('installs it again: it takes over what it left behind', async () => {
    await release('install', nextChart);
    assert.equal(await isServed(), true);
    // The operator of this version does not know the field.
    await setField('mcpgroup', 'tools', { colour: null });
    await startAsThePod();
    await setField('virtualmcpserver', 'quickstart', { replicas: 4 });
    await untilField('deployment', 'vmcp-quickstart', '.spec.replicas', '4');
  });

  test('leaves the CRDs to another tool by crds.install=false, and they stay', async () => {
    await release('upgrade', nextChart, '--set', 'crds.install=false');
    assert.notEqual(await cluster.kubectl(CRDS), '');
    await release('upgrade', nextChart);
  });

  test('has everything removed: the servers first, then with crds.keep=false the CRDs', async () => {
    const withPods = 'virtualmcpservers,mcpservers,mcpremoteproxies,embeddingservers';
    await cluster.kubectl(['delete', withPods, '--all', '--all-namespaces']);
    await until('the children to go', async () =>
      (await cluster.kubectl(['get', 'deployments', '--output', 'name'])) === '' ? true : undefined,
    );
    await release('upgrade', nextChart, '--set', 'crds.keep=false');
    await operator.stop();
    await uninstall();
    await until('the CRDs to go', async () => ((await cluster.kubectl(CRDS)) === '' ? true : undefined));
  });
});

interface Crd {
  readonly spec: {
    readonly versions: readonly {
      readonly schema: {
        readonly openAPIV3Schema: {
          readonly properties: { readonly spec: { readonly properties: Record<string, object> } };
        };
      };
    }[];
  };
}

/** What a later version might add. */
const addField = async (file: string): Promise<void> => {
  const crd = parse(await readFile(file, 'utf8')) as Crd;
  for (const { schema } of crd.spec.versions) {
    schema.openAPIV3Schema.properties.spec.properties['colour'] = { type: 'string' };
  }
  await writeFile(file, stringify(crd));
};
