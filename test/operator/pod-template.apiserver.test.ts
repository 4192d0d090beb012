import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { POD_TEMPLATE_KEYS } from '../../operator/strategic-merge/index.ts';
import { until } from '../cluster/index.ts';
import { clusterUnderTest } from './engine/cluster-under-test.ts';
import { conditionIn, made, madeServer } from './engine/cluster-user.ts';
import { countedWrites, servers } from './engine/operator-under-test.ts';
import { servedStrategies } from './strategic-merge/served-strategies.ts';

const cluster = clusterUnderTest(servers);
const { kubectl, get, apply, patch, childrenOf, untilStatus, untilQuiet } = cluster;
const demo = ['vmcp', 'demo'] as const;
const assertAtRest = () => cluster.assertAtRest(...demo);

before(async () => {
  await cluster.ready();
  await apply(made('MCPGroup', 'tools', {}));
});

/** As a user keeps it in a file, again and again. */
const applyServer = (podTemplateSpec: object, ...flags: readonly string[]): Promise<string> =>
  kubectl(['apply', ...flags, '-f', '-'], JSON.stringify(madeServer('demo', { podTemplateSpec })));

type Json = Readonly<Record<string, unknown>>;

interface Container {
  readonly name: string;
  readonly resources?: { readonly limits?: Json; readonly requests?: Json };
  readonly ports?: readonly unknown[];
  readonly [field: string]: unknown;
}

interface Pod {
  readonly containers: readonly Container[];
  readonly volumes: readonly (Json & { readonly name: string })[];
  readonly [field: string]: unknown;
}

interface Template {
  readonly metadata: { readonly labels: Json; readonly annotations: Json };
  readonly spec: Pod;
}

const templateNow = async (): Promise<Template> =>
  ((await get('deployment', 'vmcp-demo'))['spec'] as { readonly template: Template }).template;

/** The template of the Deployment, once it is as wanted. */
const untilTemplate = (what: string, holds: (template: Template) => boolean): Promise<Template> =>
  until(what, async () => {
    const template = await templateNow();
    return holds(template) ? template : undefined;
  });

const container = ({ spec }: Template, wanted = 'vmcp') => spec.containers.find(({ name }) => name === wanted);
const volume = ({ spec }: Template, wanted: string) => spec.volumes.find(({ name }) => name === wanted);

const limitsOf = (template: Template): Json | undefined => container(template)?.resources?.limits;

/** Every kind of thing that the API server rewrites or adds a default to. */
const rich = {
  metadata: { labels: { team: 'search' }, annotations: { note: 'x' }, creationTimestamp: null },
  spec: {
    nodeSelector: { disk: 'ssd' },
    tolerations: [{ key: 'gpu', operator: 'Exists' }],
    priorityClassName: '',
    imagePullSecrets: [{ name: 'registry' }],
    topologySpreadConstraints: [
      { topologyKey: 'zone', maxSkew: 1, whenUnsatisfiable: 'ScheduleAnyway' },
      { topologyKey: 'zone', maxSkew: 2, whenUnsatisfiable: 'DoNotSchedule' },
    ],
    affinity: {
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 1, podAffinityTerm: { topologyKey: 'host', labelSelector: { matchLabels: { a: 'b' } } } },
        ],
      },
    },
    hostAliases: [{ ip: '10.0.0.1', hostnames: ['a'] }],
    initContainers: [{ name: 'wait', image: 'wait:1', restartPolicy: 'Always' }],
    containers: [
      {
        name: 'vmcp',
        resources: { limits: { cpu: '0.5', memory: '1024Mi' } },
        env: [{ name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
        envFrom: [{ secretRef: { name: 'more' } }],
        volumeMounts: [{ name: 'claim', mountPath: '/claim' }],
      },
      {
        name: 'dns',
        image: 'dns',
        ports: [
          { containerPort: 53, protocol: 'UDP' },
          { containerPort: 53, name: 'dns-tcp' },
        ],
        readinessProbe: { tcpSocket: { port: 53 } },
        lifecycle: { preStop: { exec: { command: ['true'] } } },
      },
    ],
    volumes: [
      { name: 'files', configMap: { name: 'files' } },
      { name: 'token', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } },
      { name: 'host', hostPath: { path: '/x' } },
      {
        name: 'claim',
        ephemeral: {
          volumeClaimTemplate: {
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2048Mi' } } },
          },
        },
      },
    ],
  },
};

test('a pod template with every default of the API server is written once', async () => {
  await applyServer(rich);
  await until('the Deployment', () => get('deployment', 'vmcp-demo'));
  await assertAtRest();
  const template = await templateNow();
  assert.equal(container(template, 'dns')?.['imagePullPolicy'], 'Always');
  assert.deepEqual(container(template)?.resources, {
    requests: { cpu: '50m', memory: '128Mi' },
    limits: { cpu: '500m', memory: '1Gi' },
  });
  assert.equal(container(template, 'dns')?.ports?.length, 2);
  assert.equal((template.spec['topologySpreadConstraints'] as readonly unknown[]).length, 2);
});

test('the one Deployment is written once for it, and one ConfigMap is enough', async () => {
  const writes = (await countedWrites(cluster.plane)).filter(({ resource }) => resource === 'deployments');
  assert.equal(writes.length, 1);
  assert.equal((await childrenOf('demo', 'configmap')).length, 1);
});

test('drift of a field that only the user set is put right', async () => {
  const change = { spec: { template: { spec: { nodeSelector: { disk: 'hdd' } } } } };
  await patch(['deployment', 'vmcp-demo'], 'merge', change);
  await untilTemplate('the node selector', ({ spec }) => (spec['nodeSelector'] as Json)['disk'] === 'ssd');
  await assertAtRest();
});

test('sources of volumes and handlers of probes change their kind', async () => {
  await applyServer({
    ...rich,
    spec: {
      ...rich.spec,
      containers: rich.spec.containers.map((each) =>
        each.name === 'dns'
          ? { ...each, readinessProbe: { exec: { command: ['true'] } } }
          : { ...each, livenessProbe: { $patch: 'replace', tcpSocket: { port: 'http' } } },
      ),
      volumes: [
        { name: 'files', secret: { secretName: 'files' } },
        { name: 'token', emptyDir: {} },
        { name: 'host', configMap: { name: 'host' } },
        { name: 'claim', persistentVolumeClaim: { claimName: 'claim' } },
      ],
    },
  });
  const template = await untilTemplate('the volumes', (now) => volume(now, 'files')?.['secret'] !== undefined);
  assert.deepEqual(Object.keys(volume(template, 'host') ?? {}).sort(), ['configMap', 'name']);
  const probe = container(template)?.['livenessProbe'] as Json;
  assert.deepEqual([probe['httpGet'], probe['tcpSocket']], [undefined, { port: 'http' }]);
  await assertAtRest();
});

const vmcpWith = (change: object) => ({ spec: { containers: [{ name: 'vmcp', ...change }] } });

test('a directive works whichever way the resource is applied', async () => {
  await applyServer(vmcpWith({ resources: { limits: { $patch: 'delete' } } }));
  const template = await untilTemplate('no limit', (now) => limitsOf(now) === undefined);
  assert.deepEqual(container(template)?.resources?.requests, { cpu: '50m', memory: '128Mi' });
  await assertAtRest();
});

test('null removes a field when the resource is applied server-side; kubectl drops it otherwise', async () => {
  const template = vmcpWith({ resources: { limits: { memory: null } }, startupProbe: null });
  await applyServer(template);
  const kept = await untilTemplate('the limit', (now) => limitsOf(now)?.['memory'] === '512Mi');
  assert.notEqual(container(kept)?.['startupProbe'], undefined);
  await applyServer(template, '--server-side', '--force-conflicts');
  const removed = await untilTemplate('no limit', (now) => limitsOf(now) === undefined);
  assert.equal(container(removed)?.['startupProbe'], undefined);
  await assertAtRest();
});

test('what the user no longer sets is removed, and what was ours is ours again', async () => {
  await applyServer(rich);
  await untilTemplate('the sidecar', (now) => container(now, 'dns') !== undefined);
  await untilQuiet();
  await applyServer({});
  const template = await untilTemplate('the sidecar to go', (now) => container(now, 'dns') === undefined);
  const { metadata, spec } = template;
  assert.deepEqual([metadata.labels['team'], metadata.annotations['note']], [undefined, undefined]);
  assert.deepEqual(
    ['nodeSelector', 'tolerations', 'affinity', 'topologySpreadConstraints', 'initContainers', 'hostAliases'].filter(
      (field) => spec[field] !== undefined,
    ),
    [],
  );
  assert.deepEqual(spec.volumes.map(({ name }) => name).sort(), ['vmcp-config', 'vmcp-tmp']);
  assert.deepEqual(limitsOf(template), { memory: '512Mi' });
  assert.equal(container(template)?.['envFrom'], undefined);
  await assertAtRest();
});

const untellable: readonly (readonly [what: string, template: object, words: RegExp])[] = [
  ['a word that is none', vmcpWith({ imagePullPolicy: 'Sometimes' }), /imagePullPolicy.*Sometimes/],
  ['a field that does not exist', vmcpWith({ imgae: 'x' }), /unknown field .*imgae/],
  ['a text for a list', { spec: { volumes: [{ name: 'x', projected: { sources: 'text' } }] } }, /sources/],
  ['a text for a number', { spec: { terminationGracePeriodSeconds: 'long' } }, /terminationGracePeriodSeconds/],
  ['a variable with a value and a source', vmcpWith({ env: [{ name: 'A', value: 'x', valueFrom: {} }] }), /valueFrom/],
];

for (const [what, template, words] of untellable) {
  test(`what only the API server can tell is a condition with its words: ${what}`, async () => {
    await applyServer(template);
    const status = await untilStatus('the refusal', demo, (now) =>
      words.test(conditionIn(now, 'ChildRefused')?.message ?? ''),
    );
    assert.match(conditionIn(status, 'ChildRefused')?.message ?? '', /Deployment.*vmcp-demo/);
  });
}

test('a template that was refused and is mended is applied', async () => {
  await applyServer(vmcpWith({ imagePullPolicy: 'Never' }));
  await untilTemplate('the policy', (now) => container(now)?.['imagePullPolicy'] === 'Never');
  await assertAtRest();
});

test('no reconcile failed on the way', () => {
  assert.deepEqual(
    cluster.operator.log.filter(({ level }) => level !== 'info'),
    [],
  );
});

test('the table of merge keys is the one that the API server serves', async () => {
  const keys = Object.fromEntries((await servedStrategies(cluster.plane)).map(({ path, key }) => [path, key]));
  assert.deepEqual(POD_TEMPLATE_KEYS, keys);
});

test('there are only strategies that merge', async () => {
  const served = await servedStrategies(cluster.plane);
  // retainKeys concerns who computes a patch; `replace` would need a place in the table.
  const strategies = new Set(served.map(({ strategy }) => strategy));
  assert.deepEqual([...strategies].sort(), ['merge', 'merge,retainKeys']);
  assert.deepEqual(
    served.filter(({ strategy }) => strategy !== 'merge').map(({ path }) => path),
    ['spec.resourceClaims', 'spec.volumes'],
  );
});
