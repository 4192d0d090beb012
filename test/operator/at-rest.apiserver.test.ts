import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { reconciledKinds } from '../../operator/kinds/index.ts';
import type { KubeObject } from '../../operator/object.ts';
import { until } from '../cluster/index.ts';
import { clusterUnderTest } from './engine/cluster-under-test.ts';
import { made, madeServer } from './engine/cluster-user.ts';
import {
  type Drift,
  type Drifted,
  type Hand,
  driftText,
  driftsOf,
  handIn,
  objectsIn,
  pluralOf,
  unrepaired,
} from './engine/drifts.ts';
import { startMeddler } from './engine/mutating-webhook.ts';
import { servers } from './engine/operator-under-test.ts';
import { everythingBuilt } from './plan/golden.ts';

/** As if the runtime could do all that is rendered for it: the fuller the children, the more there is to keep. */
const cluster = clusterUnderTest({ ...servers, kinds: reconciledKinds(everythingBuilt()) });
const { kubectl, get, apply, patch, untilQuiet, writes: writesOf, writesDuring } = cluster;

const COUNT = 24;
const numbers = Array.from({ length: COUNT }, (_, index) => index);
/** The one that is changed on the way. */
const LAST = `gateway-${COUNT - 1}`;
/** Of the kinds with fewer. */
const few = numbers.slice(0, 12);

const secret = (key: string) => ({ name: 'api', key });
const env = [
  { name: 'A_FIRST', value: '1' },
  { name: 'B_SECOND', valueFrom: { secretKeyRef: { ...secret('b'), optional: true } } },
];

const sharedConfigs = [
  made('MCPTelemetryConfig', 'otel', {
    openTelemetry: { enabled: true, endpoint: 'collector:4318', tracing: { enabled: true } },
  }),
  made('MCPExternalAuthConfig', 'bearer', { type: 'bearerToken', bearerToken: { tokenSecretRef: secret('token') } }),
  made('MCPToolConfig', 'renames', { toolsFilter: ['a'] }),
];

const gateway = (index: number): readonly object[] => [
  made('MCPGroup', `tools-${index}`, {}),
  made('MCPServerEntry', `remote-${index}`, {
    groupRef: { name: `tools-${index}` },
    remoteUrl: 'https://remote.example/mcp',
    transport: 'streamable-http',
    externalAuthConfigRef: { name: 'bearer' },
  }),
  madeServer(`gateway-${index}`, {
    groupRef: { name: `tools-${index}` },
    imagePullSecrets: [{ name: 'pull' }],
    sessionStorage: { provider: 'kvstore', address: 'redis:6379', passwordRef: secret('password') },
    telemetryConfigRef: { name: 'otel' },
    podTemplateSpec: {
      metadata: { annotations: { team: 'red' } },
      spec: { nodeSelector: { disk: 'fast' }, containers: [{ name: 'vmcp', env }] },
    },
  }),
];

const workload = (index: number): readonly object[] => [
  made('MCPServer', `weather-${index}`, {
    image: 'example.test/weather:1',
    transport: 'streamable-http',
    groupRef: { name: `tools-${index}` },
    replicas: 0,
    env: env.slice(0, 1),
    args: ['--verbose'],
    secrets: [{ name: 'api', key: 'token', targetEnvName: 'TOKEN' }],
    resources: { limits: { memory: '1Gi' } },
  }),
  made('MCPServer', `notes-${index}`, {
    image: 'example.test/notes:1',
    transport: 'stdio',
    // The Role names each pod that there is to be.
    replicas: 1,
    rateLimiting: { shared: { maxTokens: 1, refillPeriod: '1s' } },
  }),
  made('EmbeddingServer', `minilm-${index}`, { modelCache: { size: '1Gi' }, args: ['--auto-truncate'] }),
];

let hand: Hand;
before(async () => {
  await cluster.ready();
  hand = await handIn(cluster.plane);
  await apply(...sharedConfigs, ...numbers.flatMap(gateway), ...few.flatMap(workload));
  await until('the children', async () => {
    const { length } = await objectsIn(cluster.plane, 'deploy,sts');
    return length === COUNT + 4 * few.length || undefined;
  });
  await untilQuiet();
});
after(() => hand.close());

const BLUE = { metadata: { annotations: { team: 'blue' }, labels: { team: 'blue' } } };

const isOurs = ({ metadata }: KubeObject): boolean =>
  metadata.labels?.['app.kubernetes.io/managed-by'] === 'vmcp-operator';

const namesOf = async (kinds: string): Promise<readonly string[]> =>
  (await kubectl(['get', kinds, '-o', 'name'])).split('\n').filter(Boolean);

describe('nothing is written', () => {
  test('when a webhook injects a sidecar, sets defaults and reorders variables', async (t) => {
    const meddler = await startMeddler(cluster.plane);
    t.after(() => meddler.stop());
    const isInjected = (object: KubeObject): boolean => JSON.stringify(object['spec']).includes('mesh-proxy');
    const workloads = await objectsIn(cluster.plane, 'deploy,sts');
    const writes = await writesDuring(async () => {
      await until('the webhook to be asked', async () => {
        await kubectl(['annotate', 'deployment', 'vmcp-gateway-0', `asked=${meddler.asked()}`, '--overwrite']);
        return meddler.asked() > 0 || undefined;
      });
      const touched = { metadata: { annotations: { touched: 'yes' } } };
      await Promise.all(workloads.map((object) => hand.merge(object, touched)));
      await until('pods with a sidecar', async () => {
        const pods = await objectsIn(cluster.plane, 'pods');
        return pods.filter(isInjected).length >= COUNT || undefined;
      });
    });
    assert.deepEqual(writes, []);
    const deployment = await get('deployment', 'vmcp-gateway-1');
    assert.ok(isInjected(deployment));
    const text = JSON.stringify(deployment['spec']);
    assert.ok(text.indexOf('"B_SECOND"') < text.indexOf('"A_FIRST"'), 'reordered');
    // It meddles also with what the operator itself writes.
    const change = {
      podTemplateSpec: { spec: { nodeSelector: { disk: 'slow' }, containers: [{ name: 'vmcp', env }] } },
    };
    const own = await writesDuring(() => patch(['vmcp', LAST], 'merge', { spec: change }));
    assert.equal(own.filter((write) => write === `patch deployments vmcp-${LAST}`).length, 1, own.join('\n'));
    assert.ok(isInjected(await get('deployment', `vmcp-${LAST}`)));
    await cluster.assertAtRest('vmcp', LAST);
  });

  test('when an autoscaler sets the count of pods', async () => {
    const deployments = (await namesOf('deploy')).filter((name) => name.includes('vmcp-gateway-1'));
    const writes = await writesDuring(() => kubectl(['scale', ...deployments, '--replicas=2']));
    assert.deepEqual(writes, []);
    const { replicas } = (await get('deployment', 'vmcp-gateway-1'))['spec'] as { readonly replicas?: number };
    assert.equal(replicas, 2);
  });

  test('when people annotate and label what is theirs and what is ours', async () => {
    const kinds = 'vmcp,mcpgroup,mcpserverentry,mcpserver,embeddingserver,mcptelemetryconfig,mcpexternalauthconfig';
    const ours = (await namesOf(kinds)).filter((name) => /-[012]$|config/.test(name));
    const children = await objectsIn(cluster.plane, 'deploy,sts,svc,sa,cm,role,rolebinding,netpol');
    const writes = await writesDuring(async () => {
      await kubectl(['annotate', ...ours, 'team=blue']);
      await kubectl(['label', ...ours, 'team=blue']);
      await Promise.all(children.filter(isOurs).map((object) => hand.merge(object, BLUE)));
    });
    assert.deepEqual(writes, []);
  });

  test('when the operator starts anew', async () => {
    assert.deepEqual(await writesDuring(() => cluster.restartOperator(), 3000), []);
  });
});

/** By kind of owner: how many there are, and the kinds of their children. */
const OWNERS = {
  gateway: { count: COUNT - 1, kinds: 'deploy,svc,sa,cm' },
  weather: { count: few.length, kinds: 'deploy,svc,sa' },
  // Its accounts, Services and the Deployment of its front are those of the others again.
  notes: { count: few.length, kinds: 'sts,role,rolebinding,netpol' },
  minilm: { count: few.length, kinds: 'sts,svc' },
} as const;

interface Trial {
  readonly drift: Drift;
  readonly object: KubeObject;
}

/** Each drift once, on a child to which nothing else is done in the same round. */
const roundsOf = async (owner: keyof typeof OWNERS): Promise<readonly (readonly Trial[])[]> => {
  const { count, kinds } = OWNERS[owner];
  const children = await objectsIn(cluster.plane, kinds);
  const copies = numbers
    .slice(0, count)
    .map((index) =>
      children.filter(({ metadata }) => metadata.labels?.['app.kubernetes.io/instance'] === `${owner}-${index}`),
    );
  const kindsOf = (copies[0] ?? []).map(({ kind }) => kind);
  const trials = kindsOf.map((kind) => {
    const alike = copies.flatMap((each) => each.find((child) => child.kind === kind) ?? []);
    const { length } = driftsOf(alike[0] ?? assert.fail(kind));
    return Array.from({ length }, (_, index) => {
      const object = alike[index % count] ?? assert.fail(kind);
      return { object, drift: driftsOf(object)[index] ?? assert.fail(`${kind}: they are not alike`) };
    });
  });
  const rounds = Math.ceil(Math.max(...trials.map(({ length }) => length)) / count);
  return Array.from({ length: rounds }, (_, round) =>
    trials.flatMap((each) => each.slice(round * count, (round + 1) * count)),
  );
};

/** What the server lets nobody change; that it lets nobody remove what it requires goes without saying. */
const FIXED =
  /selector|template\.metadata\.labels|serviceName|podManagementPolicy|volumeClaimTemplates|strategy\.type|volumeMounts.*name/;

describe('drift', () => {
  // Its pods are not what is looked at, and each change would make new ones.
  before(async () => {
    const deployments = await objectsIn(cluster.plane, 'deploy');
    await Promise.all(deployments.map((object) => hand.merge(object, { spec: { replicas: 0 } })));
    await untilQuiet();
  });

  test('of every field that is ours is repaired, by one write of the child alone', async () => {
    const rounds = await Promise.all((['gateway', 'weather', 'notes', 'minilm'] as const).map(roundsOf));
    const trials: (Trial & Drifted)[] = [];
    const complaints: string[] = [];
    for (let round = 0; rounds.some((each) => each.length > round); round += 1) {
      const due = rounds.flatMap((each) => each[round] ?? []);
      const seen = (await writesOf()).length;
      const begun = await Promise.all(
        due.map(async (trial) => ({ ...trial, ...(await hand.drift(trial.object, trial.drift)) })),
      );
      const wanted = begun
        .filter(({ outcome }) => outcome === 'drifted')
        .map(({ object }) => `patch ${pluralOf(object)} ${object.metadata.name}`);
      // A key that is touched again and again waits for 3 s; what never comes is told below.
      const areMade = async (): Promise<boolean> => {
        const made = new Set((await writesOf()).slice(seen));
        return wanted.every((write) => made.has(write));
      };
      await until('the repairs', async () => (await areMade()) || undefined, { timeoutMs: 15_000 }).catch(() => {});
      await untilQuiet(1200);
      const writes = (await writesOf()).slice(seen).filter((write) => !isPassing(write, begun));
      complaints.push(...differences(wanted, writes));
      await Promise.all(
        begun.map(async ({ drift, object, before: asItWas }) => {
          const wrong = unrepaired(asItWas, await hand.get(object));
          if (wrong !== undefined) complaints.push(`${driftText(drift)} of ${object.metadata.name}: ${wrong}`);
        }),
      );
      trials.push(...begun);
    }
    assert.deepEqual(complaints, []);
    const refused = trials.filter(({ outcome }) => outcome === 'refused');
    const unchanged = refused.filter(({ drift: { does } }) => does === 'changes').map(({ drift }) => driftText(drift));
    assert.deepEqual(
      unchanged.filter((text) => !FIXED.test(text)),
      [],
    );
    const drifted = trials.filter(({ outcome }) => outcome === 'drifted');
    assert.ok(drifted.length > 300, `${drifted.length} of ${trials.length} drifts`);
    const owned = new Set(servers.kinds.flatMap(({ owns }) => owns));
    assert.deepEqual([...new Set(drifted.map(({ drift }) => drift.kind))].toSorted(), [...owned].toSorted());
  });
});

/** A Deployment without our label or our reference is not seen until it is repaired, and the status tells it. */
const isPassing = (write: string, trials: readonly Trial[]): boolean =>
  trials.some(
    ({ drift: { kind, field }, object: { metadata } }) =>
      kind === 'Deployment' &&
      /managed-by|ownerReferences/.test(field.steps.join()) &&
      write === `patch virtualmcpservers/status ${metadata.labels?.['app.kubernetes.io/instance']}`,
  );

/** What was written too often, or not at all. */
const differences = (wanted: readonly string[], writes: readonly string[]): readonly string[] => {
  const count = (list: readonly string[], one: string): number => list.filter((each) => each === one).length;
  return [...new Set([...wanted, ...writes])]
    .filter((one) => count(wanted, one) !== count(writes, one))
    .map((one) => `${one}: ${count(writes, one)} times, not ${count(wanted, one)}`);
};
