import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { JWK } from 'jose';
import { parse } from 'yaml';
import { kinds } from '../../crds/index.ts';
import { objectSchema } from '../../crds/crd.ts';
import type { SchemaNode } from '../../crds/structural.ts';
import { reconciledKinds } from '../../operator/kinds/index.ts';
import type { KubeObject } from '../../operator/object.ts';
import { mountedConfigMap } from '../../operator/plan/server/objects/pod-template.ts';
import type { StatusReport } from '../../runtime/status/report.ts';
import { until } from '../cluster/index.ts';
import { covers } from '../requirements.ts';
import { clusterUnderTest } from './engine/cluster-under-test.ts';
import { type StatusUnderTest, verdictIn } from './engine/cluster-user.ts';
import { type FakePod, pretendReady, serveReport } from './engine/fake-pod.ts';
import { servers } from './engine/operator-under-test.ts';
import { everythingBuilt } from './plan/golden.ts';
import type { Made, Row } from './references/row.ts';
import { MEMBERS, ROWS, WORLD } from './references/table.ts';

/** As if the runtime could do all that is rendered for it. */
const cluster = clusterUnderTest({ ...servers, kinds: reconciledKinds(everythingBuilt()) });
const { apply } = cluster;

const objectOf = ([kind, name, content]: Made, namespace = 'default'): object => {
  const metadata = { name, namespace };
  if (kind === 'Secret') return { apiVersion: 'v1', kind, metadata, stringData: content };
  if (kind === 'ConfigMap') return { apiVersion: 'v1', kind, metadata, data: content };
  return { apiVersion: 'vmcp.dev/v1beta1', kind, metadata, spec: content };
};

const REFERRERS = [...new Map(ROWS.map(({ referrer }) => [`${referrer[0]} ${referrer[1]}`, referrer])).values()];
const TARGETS = ROWS.flatMap(({ targets }) => targets);

/** Everything that is there, by kind and name. */
type Seen = ReadonlyMap<string, KubeObject>;

const look = async (): Promise<Seen> => {
  const kindsOfOurs = [...new Set([...REFERRERS, ...WORLD].map(([kind]) => kind))];
  const items = (await cluster.plane.list([...kindsOfOurs, 'deployment', 'configmap', 'pod'].join())) as KubeObject[];
  return new Map(items.map((item) => [`${item.kind} ${item.metadata.name}`, item]));
};

const statusIn = (seen: Seen, [kind, name]: Made): StatusUnderTest => seen.get(`${kind} ${name}`)?.['status'] ?? {};

/** What the pods of a server are told; undefined before there are any. */
const toldTo = (seen: Seen, server: string | undefined): string | undefined => {
  const deployment = seen.get(`Deployment vmcp-${server}`) ?? seen.get(`Deployment mcpremoteproxy-${server}`);
  const configMap = seen.get(`ConfigMap ${(deployment && mountedConfigMap(deployment)) ?? ''}`);
  return configMap && JSON.stringify(configMap['data']);
};

/** Waits until `wrong` finds nothing in any row; each that has something is named. */
const untilAll = (what: string, wrong: (row: Row, seen: Seen) => string | undefined): Promise<Seen> => {
  let last = '';
  return until(what, async () => {
    const seen = await look();
    await makePodsReady(seen);
    const found = ROWS.flatMap((row) => {
      const problem = wrong(row, seen);
      return problem === undefined ? [] : [`${titleOf(row)}: ${problem}`];
    });
    last = found.join('\n');
    if (found.length > 0) throw new Error(last);
    return seen;
  });
};

const titleOf = ({ referrer: [kind, name], subject }: Row): string => `${kind} ${name} → ${subject}`;

/** What is not as it should be about the condition and the phase. */
const unlike = (row: Row, seen: Seen, state: 'missing' | 'found' | 'deleted'): string | undefined => {
  const status = statusIn(seen, row.referrer);
  const [verdict, phase] = [verdictIn(status, `${row.subject}Resolved`), row.phases[state]];
  const wanted = state === 'found' ? `True ${row.subject}Found` : `False ${row.subject}NotFound`;
  if (verdict !== wanted) return `${verdict}, not ${wanted}`;
  return phase === undefined || status.phase === phase
    ? undefined
    : `phase ${status.phase} (${status.message}), not ${phase}`;
};

/** Uids of pods that have been made ready, and what answers in place of those that are asked. */
const pods = new Set<string>();
const answering: FakePod[] = [];
after(async () => {
  await Promise.all(answering.map((pod) => pod.stop()));
});

/** There is no kubelet, and no runtime: both are stood in for, and every backend is fine. */
const makePodsReady = async (seen: Seen): Promise<void> => {
  for (const pod of [...seen.values()].filter(
    ({ kind, metadata }) => kind === 'Pod' && !pods.has(metadata.uid ?? ''),
  )) {
    await makeReady(pod, seen);
  }
};

const makeReady = async (pod: KubeObject, seen: Seen): Promise<void> => {
  const { name, uid = '', labels = {} } = pod.metadata;
  const mounted = mountedConfigMap(pod);
  const configMap = seen.get(`ConfigMap ${mounted}`);
  // Pods are listed last: what this one mounts was made after the ConfigMaps were, and the next look finds it.
  if (mounted !== undefined && configMap === undefined) return;
  pods.add(uid);
  const address = `127.44.90.${pods.size}`;
  const server = labels['app.kubernetes.io/instance'] ?? '';
  if (configMap !== undefined) {
    const { 'config.yaml': text = '' } = configMap['data'] as Readonly<Record<string, string>>;
    const { management } = parse(text) as { readonly management: { audience: string; operatorKeys: readonly JWK[] } };
    const trust = { keys: management.operatorKeys, audience: management.audience };
    answering.push(await serveReport(address, trust, healthy(MEMBERS[server] ?? [])));
  }
  await pretendReady(cluster.plane, name, address);
};

const healthy = (backends: readonly string[]): StatusReport => ({
  version: '1',
  config: { hash: 'x' },
  toolCount: backends.length,
  backends: backends.map((name) => ({
    name,
    status: 'ready',
    lastHealthCheck: new Date().toISOString(),
    consecutiveFailures: 0,
    toolCount: 1,
  })),
  collisions: [],
});

/** With its generation: another template would be another one, and new pods. */
const deploymentsIn = (seen: Seen): readonly string[] =>
  [...seen.values()]
    .filter(({ kind }) => kind === 'Deployment')
    .map(({ metadata: { name, generation } }) => `${name} ${generation}`);

describe('what is referred to', () => {
  let deployments: readonly string[];
  let told: ReadonlyMap<string, string | undefined>;
  const remember = (seen: Seen): void => {
    told = new Map(ROWS.map(({ server }) => [server ?? '', toldTo(seen, server)]));
  };
  before(async () => {
    await cluster.ready();
    await cluster.kubectl(['create', 'namespace', 'elsewhere']);
    await apply(...TARGETS.map(({ made }) => objectOf(made, 'elsewhere')), ...WORLD.map((made) => objectOf(made)));
    await apply(...REFERRERS.map((made) => objectOf(made)));
  });

  test('is in the table, every kind of it that a schema knows', () => {
    const listed = new Set(ROWS.map(({ referrer: [kind], targets: [target] }) => `${kind} ${target?.made[0]}`));
    const known = reconciledKinds().flatMap(({ kind }) => placesOf(kind));
    assert.deepEqual(
      known.filter((place) => !listed.has(place)),
      [],
    );
  });

  covers('operator.ref.external-auth-config.same-namespace');
  test('is missing, also when another namespace has it: the condition says so, and nothing is made of it', async () => {
    const seen = await untilAll('all to be missed', (row, now) => unlike(row, now, 'missing'));
    for (const row of ROWS.filter(({ phases }) => phases.missing === 'Pending')) {
      assert.equal(toldTo(seen, row.server), undefined, titleOf(row));
    }
  });

  test('comes: the condition says so, the phase follows, and the pods get it', async () => {
    await apply(...TARGETS.map(({ made }) => objectOf(made)));
    remember(
      await untilAll('all to be found', (row, seen) =>
        row.server !== undefined && toldTo(seen, row.server) === undefined ? 'no pods' : unlike(row, seen, 'found'),
      ),
    );
  });

  test('changes: the pods get the new one', async () => {
    await apply(...TARGETS.map(({ made: [kind, name], changed }) => objectOf([kind, name, changed])));
    const isTold = ({ targets, server }: Row): boolean =>
      server !== undefined &&
      targets.some(({ made: [kind] }) => !['Secret', 'MCPGroup', 'EmbeddingServer'].includes(kind));
    const after = await untilAll('the changes to take effect', (row, seen) =>
      isTold(row) && toldTo(seen, row.server) === told.get(row.server ?? '')
        ? 'told as before'
        : unlike(row, seen, 'found'),
    );
    remember(after);
    deployments = deploymentsIn(after);
  });

  test('is deleted: the condition says so; what was accepted stays in effect, and a backend that needs it is withheld', async () => {
    for (const [kind, made] of Map.groupBy(TARGETS, ({ made: [kind] }) => kind)) {
      await cluster.kubectl(['delete', kind, ...new Set(made.map(({ made: [, name] }) => name))]);
    }
    await untilAll('all to be missed', (row, seen) => {
      const isSame = toldTo(seen, row.server) === told.get(row.server ?? '');
      if (row.afterwards === 'kept' && !isSame) return 'told something else';
      if (row.afterwards === 'withheld' && isSame) return 'told as before';
      return unlike(row, seen, 'deleted');
    });
  });

  test('comes again: everything is as it was, and no pod was replaced', async () => {
    await apply(...TARGETS.map(({ made: [kind, name], changed }) => objectOf([kind, name, changed])));
    const after = await untilAll('all to be found', (row, seen) =>
      row.server !== undefined && toldTo(seen, row.server) !== told.get(row.server)
        ? 'told something else'
        : unlike(row, seen, 'found'),
    );
    assert.deepEqual(deploymentsIn(after), deployments);
  });

  test('has cost no reconcile a failure', () => {
    assert.deepEqual(
      cluster.operator.log.filter(({ level }) => level !== 'info'),
      [],
    );
  });
});

/** `<kind> <kind it may name>`, for everything below a kind's schema. */
const placesOf = (kind: string): readonly string[] => {
  const definition = kinds[kind as keyof typeof kinds];
  return [...new Set(namedBelow(objectSchema(definition)))].map((named) => `${kind} ${named}`);
};

const namedBelow = ({ refersTo, properties = {}, additionalProperties, items }: SchemaNode): readonly string[] => [
  ...(refersTo === undefined ? [] : [refersTo]),
  ...[...Object.values(properties), additionalProperties, items].flatMap((child) => (child ? namedBelow(child) : [])),
];
