import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import type { KubeObject } from '../../operator/object.ts';
import { type AuditedWrite, until } from '../cluster/index.ts';
import { installedCluster } from './engine/cluster-under-test.ts';
import { made, madeServer } from './engine/cluster-user.ts';
import { servers } from './engine/operator-under-test.ts';
import { kill, wrongClock } from './engine/operator-process.ts';
import { type Rival, type Rivals, rivalsIn } from './engine/rivals.ts';

const cluster = installedCluster(servers);
const { apply } = cluster;
const HOUR = 3_600_000;
/** The bound. */
const FAILOVER_MS = 20_000;

const started: Rival[] = [];
before(() => cluster.ready());
after(() => Promise.all(started.map(({ process }) => kill(process))));

interface Pair {
  readonly namespace: string;
  readonly leader: Rival;
  readonly other: Rival;
  /** More work than is done at once. */
  readonly work: (prefix: string) => Promise<readonly string[]>;
}

interface Clocks {
  readonly leader?: readonly string[];
  readonly other?: readonly string[];
}

/** Two replicas, of which the first leads. */
const pairIn = async (namespace: string, clocks: Clocks = {}): Promise<Pair> => {
  const rivals = await rivalsIn(cluster.plane, namespace);
  const work: Pair['work'] = async (prefix) => {
    const names = Array.from({ length: 8 }, (_, index) => `${prefix}-${index}`);
    const items = [made('MCPGroup', 'tools', {}), ...names.map((name) => madeServer(name, { replicas: 0 }))];
    await apply(...items.map((item) => inNamespace(item, namespace)));
    return names;
  };
  const leader = await begin(rivals, 'first', clocks.leader);
  await until('the first to lead', async () => leader.leads() || undefined);
  const other = await begin(rivals, 'second', clocks.other);
  await until('the second to wait', async () => other.isSynced() || undefined);
  return { namespace, leader, other, work };
};

const begin = async (rivals: Rivals, account: string, args?: readonly string[]): Promise<Rival> => {
  const rival = await rivals.start(account, args);
  started.push(rival);
  return rival;
};

const inNamespace = (item: object, namespace: string): object => ({
  ...item,
  metadata: { ...(item as KubeObject).metadata, namespace },
});

const untilComplete = (namespace: string, names: readonly string[]): Promise<true> =>
  until(
    `${names.length} servers to be complete`,
    async () => {
      const items = (await cluster.plane.list('vmcp,sa,svc,cm,deploy', { namespace })) as readonly KubeObject[];
      const isComplete = (name: string): boolean => {
        const of = items.filter(({ metadata }) => metadata.labels?.['app.kubernetes.io/instance'] === name);
        const itself = items.find(({ kind, metadata }) => kind === 'VirtualMCPServer' && metadata.name === name);
        return of.length === 4 && itself?.['status'] !== undefined;
      };
      return names.every(isComplete) ? true : undefined;
    },
    { intervalMs: 400 },
  );

const untilWritten = (rival: Rival, count: number): Promise<readonly AuditedWrite[]> =>
  until(
    `${count} writes`,
    async () => {
      const writes = await rival.writes();
      return writes.length >= count ? writes : undefined;
    },
    { intervalMs: 20 },
  );

/** No object was made twice, and one of the two has never written since the other did. */
const assertOneAfterTheOther = async ({ leader, other }: Pair): Promise<void> => {
  const [first, second] = [await leader.writes(), await other.writes()];
  const made = [...first, ...second].filter(({ code }) => code === 201);
  const twice = [...Map.groupBy(made, ({ resource, name }) => `${resource} ${name}`)];
  assert.deepEqual(
    twice.filter(([, writes]) => writes.length > 1).map(([what]) => what),
    [],
  );
  const since = second[0]?.at ?? assert.fail('the second has written nothing');
  assert.deepEqual(
    first.filter(({ at }) => at > since),
    [],
  );
};

const assertFailover = async ({ leader, other }: Pair, end: () => void): Promise<void> => {
  const beganAt = performance.now();
  end();
  await until('the second to lead', async () => other.leads() || undefined, { timeoutMs: 40_000 });
  const tookMs = performance.now() - beganAt;
  assert.ok(tookMs < FAILOVER_MS, `it took ${tookMs} ms`);
  assert.ok((await leader.writes()).length > 0);
};

/** They do not get in each other's way: each pair has a namespace and a Lease of its own. */
describe('two operators', { concurrency: true }, () => {
  test('the leader is killed in the middle of its work: the other goes on within 20 s, and makes nothing twice', async () => {
    const pair = await pairIn('killed');
    const names = await pair.work('a');
    await untilWritten(pair.leader, 12);
    await assertFailover(pair, () => pair.leader.process.kill('SIGKILL'));
    await untilComplete(pair.namespace, names);
    assert.ok((await pair.leader.writes()).length < names.length * 5, 'it was killed before it was done');
    await assertOneAfterTheOther(pair);
  });

  test('the leader is frozen in the middle of its work: thawed, it writes nothing and stands back', async () => {
    const pair = await pairIn('frozen');
    const names = await pair.work('a');
    await untilWritten(pair.leader, 12);
    await assertFailover(pair, () => pair.leader.process.kill('SIGSTOP'));
    await untilComplete(pair.namespace, names);
    pair.leader.process.kill('SIGCONT');
    await until('it to notice', async () => !pair.leader.leads() || undefined);
    const more = await pair.work('b');
    await untilComplete(pair.namespace, more);
    await assertOneAfterTheOther(pair);
    assert.equal(pair.other.leads() && !pair.leader.leads(), true);
  });

  test('clocks that are hours apart, and are set meanwhile: one leads, and the other finds nothing to do after it', async () => {
    const pair = await pairIn('skewed', { leader: wrongClock(HOUR, -2 * HOUR), other: wrongClock(-HOUR, 2 * HOUR) });
    await untilComplete(pair.namespace, await pair.work('a'));
    [pair.leader, pair.other].forEach(({ process }) => process.kill('SIGUSR2'));
    const renewals = await leasesWritten(pair.namespace);
    await untilComplete(pair.namespace, await pair.work('b'));
    await until('renewals', async () => (await leasesWritten(pair.namespace)) > renewals + 3 || undefined);
    assert.deepEqual([pair.leader.leads(), pair.other.leads(), (await pair.other.writes()).length], [true, false, 0]);
    await untilRest(pair.leader);
    const exited = once(pair.leader.process, 'exit');
    await assertFailover(pair, () => pair.leader.process.kill('SIGTERM'));
    await exited;
    await untilComplete(pair.namespace, await pair.work('c'));
    await assertOneAfterTheOther(pair);
    const again = (await pair.other.writes()).map(({ resource, name }) => `${resource} ${name}`);
    assert.deepEqual(
      again.filter((write) => !/\bc-\d/.test(write)),
      [],
    );
  });
});

const leasesWritten = async (namespace: string): Promise<number> =>
  (await cluster.plane.writes()).filter((write) => write.resource === 'leases' && write.namespace === namespace).length;

const untilRest = async (rival: Rival): Promise<void> => {
  let [count, since] = [-1, performance.now()];
  await until('it to rest', async () => {
    const { length } = await rival.writes();
    if (length !== count) [count, since] = [length, performance.now()];
    return performance.now() - since > 2000 || undefined;
  });
};
