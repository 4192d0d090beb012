import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { helm, startControlPlane, until, type ControlPlane } from '../cluster/index.ts';
import { reconciledKinds } from '../../operator/kinds/index.ts';
import { freePortPair } from '../fixtures/ports.ts';
import { CONFIGURATION, installWebhook, SHORT_LIFETIMES } from '../operator/admission/chart-webhook.ts';
import { quickstart } from '../operator/engine/cluster-under-test.ts';
import { clusterUser, made } from '../operator/engine/cluster-user.ts';
import { bindToNode } from '../operator/engine/fake-pod.ts';
import { operatorUser, servers, startOperatorUnderTest } from '../operator/engine/operator-under-test.ts';
import type { OperatorUnderTest } from '../operator/engine/operator-under-test.ts';
import { everythingBuilt } from '../operator/plan/golden.ts';
import { authServer, oidc } from '../operator/validate/cases.ts';
import { CHART, render } from './rendered.ts';
import { strayObjects } from './stray-objects.ts';

const built = { ...servers, kinds: reconciledKinds(everythingBuilt()) };

const RELEASE = ['vmcp-operator', CHART, '--namespace', 'vmcp-system'];

/** Not the right to a request: the API server asks for it when an owner reference is set. The last test takes it away. */
const ASKED_FOR_BY_ADMISSION = [
  ...['embeddingservers', 'mcpremoteproxies', 'mcpservers', 'virtualmcpservers'].map(
    (plural) => `update ${plural}/finalizers.vmcp.dev`,
  ),
  // When a right is granted: the Role of a bridge has these.
  'get pods.',
  'get pods/attach.',
  'create pods/attach.',
].map((right) => `ClusterRole vmcp-operator: ${right}`);

const login = { externalAuthConfigRef: { name: 'login' } };
const entry = { groupRef: { name: 'tools' }, remoteUrl: 'http://a.example.com/mcp', transport: 'streamable-http' };
const callers = { oidcConfigRef: { name: 'idp', audience: 'a' } };

/** One of every kind that is reconciled, each of them named by others. */
const RESOURCES: readonly (readonly [kind: string, name: string, spec: object])[] = [
  ['MCPGroup', 'tools', {}],
  ['MCPOIDCConfig', 'idp', oidc({})],
  ['MCPTelemetryConfig', 'otel', { prometheus: { enabled: true } }],
  ['MCPToolConfig', 'renames', { toolsFilter: ['a'] }],
  ['VirtualMCPCompositeToolDefinition', 'flow', { name: 'w', steps: [{ id: 'a', type: 'tool', tool: 'x.y' }] }],
  ['MCPExternalAuthConfig', 'login', { type: 'unauthenticated' }],
  ['MCPServerEntry', 'member', { ...entry, ...login }],
  ['MCPServer', 'member', { image: 'a', ...login }],
  ['MCPServer', 'run', { image: 'a', transport: 'sse' }],
  ['MCPServer', 'bridged', { image: 'a' }],
  ['MCPServer', 'guarded', { image: 'a', transport: 'sse', ...callers }],
  ['EmbeddingServer', 'vectors', {}],
  ['MCPRemoteProxy', 'remote', { remoteUrl: 'http://backend/mcp' }],
  ['MCPRemoteProxy', 'member', { remoteUrl: 'http://a.example.com/mcp', ...login }],
];

/** What names all of them. */
const gateway = {
  groupRef: { name: 'tools' },
  incomingAuth: { type: 'oidc', ...callers },
  telemetryConfigRef: { name: 'otel' },
  embeddingServerRef: { name: 'vectors' },
  outgoingAuth: { backends: { a: { type: 'externalAuthConfigRef', ...login } } },
  config: {
    aggregation: { tools: [{ workload: 'a', toolConfigRef: { name: 'renames' } }] },
    compositeToolRefs: [{ name: 'flow' }],
  },
};

/** `<Role or ClusterRole> <name>: <verb> <resource>.<group>`, and whose name it is for. */
const grantedRights = async (): Promise<readonly string[]> =>
  (await render()).flatMap(({ kind, metadata, rules = [] }) =>
    rules.flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) => verbs.map((verb) => `${kind} ${metadata.name}: ${verb} ${resource}.${group}`)),
      ),
    ),
  );

describe('the rights that the chart grants', () => {
  let cluster: ControlPlane;
  let kubeconfig: string;
  let port: number;
  let operator: OperatorUnderTest;

  const start = async (): Promise<void> => {
    operator = await startOperatorUnderTest(kubeconfig, built, {
      leaderElection: true,
      webhook: { configuration: CONFIGURATION, port, drainMs: 0, lifetimes: SHORT_LIFETIMES, everyMs: 300 },
    });
    await operator.synced;
  };

  before(async () => {
    // As OpenShift has it: who sets an owner reference that blocks deletion must be allowed to.
    cluster = await startControlPlane([
      '--enable-admission-plugins=OwnerReferencesPermissionEnforcement',
      // As Kubernetes was before 1.34: lists are lists, where they are streams now.
      '--feature-gates=WatchList=false',
    ]);
    await helm(['install', ...RELEASE, '--create-namespace', '--set', 'webhook.enabled=false'], cluster.kubeconfig);
    await cluster.kubectl(['wait', 'crd', '--all', '--for', 'condition=Established', '--timeout', '10s']);
    // That plugin learns of new kinds when it starts, and then twice a minute.
    await cluster.restartApiServer();
    await untilOwnersAreKnown();
    port = await freePortPair();
    await installWebhook(cluster, port);
    kubeconfig = await cluster.kubeconfigFor(await cluster.tokenFor('vmcp-operator', 'vmcp-system'));
    await start();
  });
  after(async () => {
    await operator?.stop();
    await cluster?.stop();
  });

  const { get, remove, childrenOf, ...user } = clusterUser(() => cluster);
  const apply = (...object: Parameters<typeof made>): Promise<unknown> => user.apply(made(...object));

  /** Of a kind that it does not know, the plugin refuses owners. */
  const untilOwnersAreKnown = (): Promise<string> => {
    const owner = { apiVersion: 'vmcp.dev/v1beta1', kind: 'VirtualMCPServer', name: 'a', uid: 'a' };
    const metadata = { name: 'a', ownerReferences: [{ ...owner, blockOwnerDeletion: true }] };
    const configMap = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata });
    const create = ['create', '--dry-run=server', '--as', operatorUser, '-f', '-'];
    return until('owners to be known', () => cluster.kubectl(create, configMap));
  };

  /** What the operator itself asked for, and not kubectl in its name. */
  const requestsOfOperator = async () =>
    (await cluster.requests(operatorUser)).filter(({ userAgent }) => userAgent === 'vmcp-operator');

  const usedRights = async (): Promise<ReadonlySet<string>> => {
    const requests = await requestsOfOperator();
    return new Set(
      requests.flatMap(({ verb, resource, subresource, group, code, allowedBy }) => {
        const [, kind, name] = / of (\w+) "([^"]+)"/.exec(allowedBy) ?? [];
        const what = `${subresource === '' ? resource : `${resource}/${subresource}`}.${group}`;
        // An apply that makes the object takes both.
        const verbs = verb === 'patch' && code === 201 ? ['patch', 'create'] : [verb];
        return verbs.map((each) => `${kind} ${name}: ${each} ${what}`);
      }),
    );
  };

  test('are each granted once, so that nothing makes up for one that is taken away', async () => {
    const granted = await grantedRights();
    assert.equal(new Set(granted).size, granted.length);
  });

  test('let one of every kind be reconciled', async () => {
    for (const resource of RESOURCES) await apply(...resource);
    await apply('VirtualMCPServer', 'gateway', gateway);
    await cluster.kubectl(['apply', '--server-side', '--force-conflicts', '-f', quickstart]);
    await until('the Deployment', () => get('deployment', 'vmcp-quickstart'));
  });

  test('let a pod be marked whose config has changed', async () => {
    const pod = await until('a pod', async () => {
      const [first] = await childrenOf('quickstart', 'pods');
      return first?.metadata.name;
    });
    await bindToNode(cluster, pod);
    await until('the operator to know of the binding', async () => {
      const remoteUrl = `http://everything:3001/${performance.now()}`;
      await apply('MCPServerEntry', 'everything', { ...entry, remoteUrl });
      return (await get('pod', pod)).metadata.annotations?.['vmcp.dev/config-hash'];
    });
  });

  test('let children be removed that are not planned any more', async () => {
    const ownerIs = async (...of: readonly [string, string]) => {
      const { apiVersion, kind, metadata } = await get(...of);
      return [{ apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true }];
    };
    const server = await ownerIs('virtualmcpserver', 'quickstart');
    const bridged = await ownerIs('mcpserver', 'bridged');
    const owners: Readonly<Record<string, unknown>> = {
      NetworkPolicy: await ownerIs('mcpserver', 'guarded'),
      StatefulSet: await ownerIs('embeddingserver', 'vectors'),
      Role: bridged,
      RoleBinding: bridged,
    };
    const strays = strayObjects((kind) => owners[kind] ?? server);
    await cluster.kubectl(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items: strays }));
    await cluster.kubectl([
      'annotate',
      'vmcp/quickstart',
      'embeddingserver/vectors',
      'mcpserver/guarded',
      'mcpserver/bridged',
      'look=again',
    ]);
    await until('the strays to go', async () => {
      const left = await cluster.kubectl(['get', 'cm,sa,svc,netpol,deploy,sts,role,rolebinding', '-o', 'name']);
      return left.includes('/stray') ? undefined : true;
    });
  });

  test('let children be made again after a user has deleted them', async () => {
    const ours = ['cm,sa,svc,netpol,deploy,sts,role,rolebinding', '-l', 'app.kubernetes.io/managed-by=vmcp-operator'];
    const kindsLeft = async (): Promise<ReadonlySet<string>> => {
      const names = (await cluster.kubectl(['get', ...ours, '-o', 'name'])).trim().split('\n');
      return new Set(names.map((name) => name.split('/')[0] ?? ''));
    };
    const before = await kindsLeft();
    assert.equal(before.size, 8, [...before].join(' '));
    await cluster.kubectl(['delete', ...ours, '--wait=false']);
    await until('one of each kind', async () => ((await kindsLeft()).size === before.size ? true : undefined));
  });

  test('let the webhook look at everything that it judges by', async () => {
    const other = { ...gateway, authServerConfig: authServer({ issuer: 'https://other.example.com' }) };
    await assert.rejects(apply('VirtualMCPServer', 'refused', other), /make both issuers the same/);
    const misled = { image: 'a', transport: 'sse', authServerRef: { name: 'login' }, ...callers };
    await assert.rejects(apply('MCPServer', 'misled', misled), /is of another type/);
    await assert.rejects(
      remove('mcpexternalauthconfig', 'login'),
      /is in use \(MCPRemoteProxy, MCPServer, MCPServerEntry, VirtualMCPServer\)/,
    );
    // Users are asked for until one is found.
    const externalAuthConfigRef = { name: 'alone' };
    const users: readonly (readonly [kind: string, spec: object])[] = [
      ['MCPServerEntry', { ...entry, externalAuthConfigRef }],
      ['MCPServer', { image: 'a', transport: 'sse', externalAuthConfigRef }],
      ['MCPRemoteProxy', { remoteUrl: 'http://a.example.com/mcp', externalAuthConfigRef }],
      [
        'VirtualMCPServer',
        {
          groupRef: { name: 'tools' },
          incomingAuth: { type: 'anonymous' },
          outgoingAuth: { backends: { a: { type: 'externalAuthConfigRef', externalAuthConfigRef } } },
        },
      ],
    ];
    for (const [kind, spec] of users) {
      await apply('MCPExternalAuthConfig', 'alone', { type: 'unauthenticated' });
      await apply(kind, 'user', spec);
      const isRefused = await until(`the deletion to be refused for ${kind}`, () =>
        cluster
          .kubectl(['delete', '--dry-run=server', 'mcpexternalauthconfig', 'alone'])
          .then(() => undefined)
          .catch((error: Error) => error.message),
      );
      assert.match(isRefused, new RegExp(`is in use \\(${kind}\\)`));
      await remove(kind.toLowerCase(), 'user');
    }
  });

  test('let it look why a StatefulSet makes no pod', async () => {
    await apply('MCPServer', 'unmade', { image: 'a', podTemplateSpec: { spec: { priorityClassName: 'none' } } });
    await until('the events to be read', async () => {
      const requests = await requestsOfOperator();
      return requests.some(({ verb, resource }) => verb === 'list' && resource === 'events') || undefined;
    });
  });

  test('suffice: no request was refused for want of a right', async () => {
    const refused = (await requestsOfOperator()).filter(({ code }) => code === 403);
    assert.deepEqual(refused, []);
  });

  test('are all used', async () => {
    const granted = await grantedRights();
    const renewed = 'Role vmcp-operator-webhook: update secrets.';
    await until('the certificates to be renewed', async () => (await usedRights()).has(renewed) || undefined);
    await operator.stop();
    // Watches are written down when they end.
    const unused = async (): Promise<readonly string[]> => {
      const used = await usedRights();
      return granted.filter((right) => !used.has(right));
    };
    const enough = async () => ((await unused()).length === ASKED_FOR_BY_ADMISSION.length ? true : undefined);
    await until('every right to be used', enough, { timeoutMs: 10_000 }).catch(() => undefined);
    assert.deepEqual(await unused(), ASKED_FOR_BY_ADMISSION);
  });

  test('without the one that admission asks for, the server tells what the API server refused', async () => {
    const role = await get('clusterrole', 'vmcp-operator');
    const rules = (role['rules'] as readonly { readonly resources: readonly string[] }[]).filter(
      ({ resources }) => !resources.includes('virtualmcpservers/finalizers'),
    );
    await cluster.kubectl(['replace', '-f', '-'], JSON.stringify({ ...role, rules }));
    await start();
    await apply('VirtualMCPServer', 'unowned', { groupRef: { name: 'tools' }, incomingAuth: { type: 'anonymous' } });
    await until('the refusal', async () => {
      const { status } = (await get('virtualmcpserver', 'unowned')) as { readonly status?: object };
      return /ChildRefused.*blockOwnerDeletion/.test(JSON.stringify(status ?? {})) || undefined;
    });
  });
});
