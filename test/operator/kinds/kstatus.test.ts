import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../../operator/object.ts';
import { issuer, limited, oidc } from '../plan/fronted-server-objects.ts';
import { group } from '../plan/plan-of-demo.ts';
import { fine, refused } from '../validate/cases.ts';
import { type KStatus, kstatusOf } from './kstatus.ts';
import { oddCluster } from './odd-cluster.ts';

type Cluster = ReturnType<typeof oddCluster>;

interface Subject {
  readonly kind: string;
  readonly spec: object;
  /** What it names. */
  readonly named: KubeObject;
  /** Of a child that somebody else may have. */
  readonly service: string;
}

const keys: KubeObject = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'keys', namespace: 'default' } };
const container = { image: 'a', transport: 'streamable-http', groupRef: { name: 'tools' } };
const callers = { ...oidc, ...limited };

/** Every way to have pods. */
const WITH_PODS: Readonly<Record<string, Subject>> = {
  VirtualMCPServer: {
    kind: 'VirtualMCPServer',
    spec: { groupRef: { name: 'tools' }, incomingAuth: { type: 'anonymous' } },
    named: group(),
    service: 'vmcp-weather',
  },
  MCPRemoteProxy: {
    kind: 'MCPRemoteProxy',
    spec: { remoteUrl: 'https://mcp.example/mcp', ...oidc },
    named: issuer,
    service: 'mcpremoteproxy-weather',
  },
  MCPServer: { kind: 'MCPServer', spec: container, named: group(), service: 'mcpserver-weather' },
  'MCPServer, stdio': {
    kind: 'MCPServer',
    spec: { ...container, transport: 'stdio' },
    named: group(),
    service: 'mcpserver-weather',
  },
  'MCPServer behind a runtime': {
    kind: 'MCPServer',
    spec: { ...container, ...callers },
    named: issuer,
    service: 'mcpserver-weather',
  },
  'MCPServer whose container has no Service': {
    kind: 'MCPServer',
    spec: { ...container, ...callers },
    named: issuer,
    service: 'mcpserver-weather-backend',
  },
  EmbeddingServer: {
    kind: 'EmbeddingServer',
    spec: { hfTokenSecretRef: { name: 'keys', key: 'token' } },
    named: keys,
    service: 'embeddingserver-weather',
  },
};

const INVALID = { podTemplateSpec: { spec: { containers: 5 } } };
const RUNS_PODS = ['Deployment', 'StatefulSet'];
const COMING = { phase: 'Pending' };
const UNPULLABLE = {
  ...COMING,
  containerStatuses: [{ name: 'c', image: 'a', state: { waiting: { reason: 'ImagePullBackOff' } } }],
};

interface StatusInput {
  readonly play: (cluster: Cluster, subject: Subject) => Promise<void>;
  readonly says: KStatus;
  /** Of some it is another thing. */
  readonly but?: Readonly<Record<string, KStatus>>;
  readonly notOf?: readonly string[];
}

const served = async (cluster: Cluster, { spec, named }: Subject): Promise<void> => {
  cluster.put(named);
  cluster.ask(spec);
  await cluster.settle();
};

const asked = async (cluster: Cluster, spec: object, refusing: readonly string[] = []): Promise<void> => {
  cluster.ask(spec, refusing);
  await cluster.settle();
};

/** Nothing that one without clients of its own names holds it up. */
const NOT_HELD_UP: Readonly<Record<string, KStatus>> = {
  MCPServer: 'Current',
  'MCPServer, stdio': 'Current',
  EmbeddingServer: 'Current',
};

const SITUATIONS: Readonly<Record<string, StatusInput>> = {
  'accepted, its pods ready': { play: served, says: 'Current' },
  'its pods coming': {
    play: (cluster, subject) => {
      cluster.podsAre(COMING);
      return served(cluster, subject);
    },
    says: 'InProgress',
  },
  // It may come, or be pulled by who may, with nothing changed here.
  'an image that cannot be pulled': {
    play: (cluster, subject) => {
      cluster.podsAre(UNPULLABLE);
      return served(cluster, subject);
    },
    says: 'InProgress',
  },
  // `kubectl apply -f` of a directory comes in any order.
  'what it names missing': {
    play: (cluster, { spec }) => asked(cluster, spec),
    says: 'InProgress',
    but: NOT_HELD_UP,
  },
  'a spec that is refused': {
    play: (cluster, { spec, named }) => {
      cluster.put(named);
      return asked(cluster, { ...spec, ...INVALID });
    },
    says: 'Failed',
  },
  'a spec that is refused, while the last good one serves': {
    play: async (cluster, subject) => {
      await served(cluster, subject);
      await asked(cluster, { ...subject.spec, ...INVALID });
    },
    says: 'Failed',
  },
  'a spec that nobody has looked at': {
    play: async (cluster, subject) => {
      await served(cluster, subject);
      cluster.ask({ ...subject.spec, ...INVALID });
    },
    says: 'InProgress',
  },
  'a Service of its name that is another’s': {
    play: (cluster, subject) => {
      const metadata = { name: subject.service, namespace: 'default', uid: 'theirs' };
      cluster.put({ apiVersion: 'v1', kind: 'Service', metadata });
      return served(cluster, subject);
    },
    says: 'Failed',
  },
  'a Service of its name that was another’s': {
    play: async (cluster, subject) => {
      const stranger = { name: subject.service, namespace: 'default', uid: 'theirs' };
      cluster.put({ apiVersion: 'v1', kind: 'Service', metadata: stranger });
      await served(cluster, subject);
      cluster.objects.delete(`Service/default/${subject.service}`);
      await cluster.settle();
    },
    says: 'Current',
  },
  // Its children are collected.
  'made again under the name of one that was deleted': {
    play: async (cluster, subject) => {
      await served(cluster, subject);
      cluster.makeAgain(subject.spec);
      await cluster.look();
    },
    says: 'InProgress',
  },
  'pods that break a rule of the API server': {
    play: (cluster, { spec, named }) => {
      cluster.put(named);
      return asked(cluster, spec, RUNS_PODS);
    },
    says: 'Failed',
  },
  'pods for which there is no room, or no right': {
    play: (cluster, { spec, named }) => {
      cluster.put(named);
      cluster.ask(spec, RUNS_PODS, { status: 403 });
      return cluster.settle();
    },
    says: 'InProgress',
  },
  // As a Deployment: what nobody wants, nobody waits for.
  'replicas: 0': {
    play: (cluster, { spec, named }) => {
      cluster.put(named);
      return asked(cluster, { ...spec, replicas: 0 });
    },
    says: 'Current',
    notOf: ['EmbeddingServer'],
  },
  'replicas: 0, and no right to make anything': {
    play: (cluster, { spec, named }) => {
      cluster.put(named);
      cluster.ask({ ...spec, replicas: 0 }, ['Service'], { status: 403 });
      return cluster.settle();
    },
    says: 'InProgress',
    notOf: ['EmbeddingServer'],
  },
  'being deleted': {
    play: async (cluster, subject) => {
      await served(cluster, subject);
      const { metadata, ...rest } = cluster.server();
      cluster.put({ ...rest, metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } });
      await cluster.look();
    },
    says: 'Terminating',
  },
};

for (const [statusInput, { play, says, but = {}, notOf = [] }] of Object.entries(SITUATIONS)) {
  for (const [name, subject] of Object.entries(WITH_PODS).filter(([each]) => !notOf.includes(each))) {
    const expected = but[name] ?? says;
    test(`${name}, ${statusInput}: ${expected}`, async () => {
      const cluster = oddCluster(subject.kind);
      await play(cluster, subject);
      assert.equal(kstatusOf(cluster.server()), expected, JSON.stringify(cluster.server()['status']));
    });
  }
}

test('an EmbeddingServer whose volumes are to be others is Failed until a user decides', async () => {
  const cluster = oddCluster('EmbeddingServer');
  const cache = (size: string): object => ({ modelCache: { enabled: true, size } });
  await asked(cluster, cache('1Gi'));
  await asked(cluster, cache('2Gi'));
  assert.equal(kstatusOf(cluster.server()), 'Failed');
  await asked(cluster, cache('1Gi'));
  assert.equal(kstatusOf(cluster.server()), 'Current');
});

for (const [kind, spec] of [...fine, ['MCPGroup', {}] as const]) {
  const holdsUp = kind === 'MCPServerEntry';
  test(`${kind} ${JSON.stringify(spec)} is Current${holdsUp ? '' : ', whether what it names is there or not'}`, async () => {
    const cluster = oddCluster(kind);
    if (holdsUp) cluster.put(group());
    await asked(cluster, spec);
    assert.equal(kstatusOf(cluster.server()), 'Current');
  });
}

for (const [kind, why, spec] of refused) {
  test(`${kind} with ${why} is Failed, and Current once that is mended`, async () => {
    const cluster = oddCluster(kind);
    cluster.put(group());
    await asked(cluster, spec);
    assert.equal(kstatusOf(cluster.server()), 'Failed');
    await asked(cluster, fine.find(([each]) => each === kind)?.[1] ?? {});
    assert.equal(kstatusOf(cluster.server()), 'Current');
  });
}

test('an MCPServerEntry is InProgress until what it names is there, and when that goes', async () => {
  const cluster = oddCluster('MCPServerEntry');
  const [, spec] = fine.find(([kind]) => kind === 'MCPServerEntry') ?? assert.fail();
  await asked(cluster, spec);
  assert.equal(kstatusOf(cluster.server()), 'InProgress');
  cluster.put(group());
  await cluster.look();
  assert.equal(kstatusOf(cluster.server()), 'Current');
  cluster.objects.delete('MCPGroup/default/tools');
  await cluster.look();
  assert.equal(kstatusOf(cluster.server()), 'InProgress');
});
