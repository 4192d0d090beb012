import { hostileObject } from '../../test/operator/hostile/hostile-object.ts';
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { KubeObject } from '../../operator/object.ts';
import { handmade } from '../../test/operator/hostile/handmade.ts';
import { inflated } from '../../test/operator/hostile/inflated.ts';
import { ordinary } from '../../test/operator/hostile/ordinary.ts';
import { type AttackImpact, type Trial, startTrial } from '../../test/operator/hostile/trial.ts';
import { publish } from '../publish.ts';
import { atMost, targetTable } from '../targets.ts';

/** `npm run bench:hostile [-- --servers 200 --write]`: see README.md one folder up. */
const { values } = parseArgs({
  options: { servers: { type: 'string', default: '200' }, write: { type: 'boolean', default: false } },
});
const count = Number(values.servers);

const member = (name: string, group: string): KubeObject =>
  hostileObject('MCPServerEntry', name, {
    groupRef: { name: group },
    remoteUrl: `https://${name}.example.com/mcp`,
    transport: 'streamable-http',
  });

const server = (name: string, group: string): KubeObject =>
  hostileObject('VirtualMCPServer', name, { groupRef: { name: group }, incomingAuth: { type: 'anonymous' } });

const named = (total: number, make: (index: number) => KubeObject): readonly KubeObject[] =>
  Array.from({ length: total }, (_, index) => make(index));

/** So many requests at once. */
const sendAll = async ({ send }: Trial, objects: readonly KubeObject[], atOnce = 16): Promise<void> => {
  const waiting = objects.values();
  const work = async (): Promise<void> => {
    for (const object of waiting) await send('POST', object);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
};

const quantile = (numbers: readonly number[], of: number): number =>
  numbers.toSorted((one, other) => one - other)[Math.min(numbers.length - 1, Math.floor(numbers.length * of))] ?? NaN;

/** Milliseconds from the answer to each create until its Deployment is there. */
const untilDeployed = async (trial: Trial, servers: readonly KubeObject[]): Promise<readonly number[]> => {
  const createdAt = new Map<string, number>();
  const took: number[] = [];
  const send: Trial['send'] = async (...given) => {
    const answer = await trial.send(...given);
    assert.equal(answer.status, 201, answer.message);
    createdAt.set(`vmcp-${given[1].metadata.name}`, performance.now());
    return answer;
  };
  const failures: unknown[] = [];
  const creating = sendAll({ ...trial, send }, servers).catch((error: unknown) => failures.push(error));
  while (took.length < servers.length) {
    if (failures.length > 0) throw failures[0];
    const { items } = (await trial.get('/apis/apps/v1/namespaces/hostile/deployments')) as {
      readonly items: readonly KubeObject[];
    };
    for (const { metadata } of items) {
      const at = createdAt.get(metadata.name);
      if (at === undefined) continue;
      took.push(performance.now() - at);
      createdAt.delete(metadata.name);
    }
    // A list of all of them each time keeps the API server from its work.
    await pause(servers.length > 1 ? 100 : 5);
  }
  await creating;
  return took;
};

const CHILD_LISTS = [
  '/api/v1/namespaces/hostile/serviceaccounts',
  '/api/v1/namespaces/hostile/services',
  '/api/v1/namespaces/hostile/configmaps',
  '/apis/apps/v1/namespaces/hostile/deployments',
];

/** The children of each server, as a client would write them that makes nothing else: other names, and no owner. */
const bareChildren = async ({ get }: Trial): Promise<readonly (readonly KubeObject[])[]> => {
  const byServer = new Map<string, KubeObject[]>();
  for (const path of CHILD_LISTS) {
    const { items, kind, apiVersion } = (await get(path)) as KubeObject & { readonly items: readonly KubeObject[] };
    for (const { metadata, status: _status, ...rest } of items) {
      const owner = metadata.labels?.['app.kubernetes.io/instance'];
      if (owner === undefined) continue;
      const bare = { ...rest, kind: kind.replace(/List$/, ''), apiVersion, metadata: bareMetadata(metadata) };
      byServer.set(owner, [...(byServer.get(owner) ?? []), withoutAddress(bare)]);
    }
  }
  return [...byServer.values()];
};

const bareMetadata = ({ name, namespace }: KubeObject['metadata']): KubeObject['metadata'] => ({
  name: `bare-${name}`,
  ...(namespace !== undefined && { namespace }),
});

/** The API server gives a Service another address. */
const withoutAddress = (object: KubeObject): KubeObject => {
  if (object.kind !== 'Service') return object;
  const { clusterIP: _ip, clusterIPs: _ips, ...spec } = object['spec'] as Readonly<Record<string, unknown>>;
  return { ...object, spec };
};

/** Milliseconds from the begin until the last child of each server is stored. */
const untilStored = async (
  { send }: Trial,
  servers: readonly (readonly KubeObject[])[],
): Promise<readonly number[]> => {
  const began = performance.now();
  const took: number[] = [];
  const waiting = servers.values();
  const work = async (): Promise<void> => {
    for (const children of waiting) {
      for (const child of children) {
        const { status, message } = await send('POST', child);
        assert.equal(status, 201, message);
      }
      took.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: 16 }, work));
  return took;
};

const row = (what: string, harm: AttackImpact): string => {
  const { canaryMs, probeMs, delay, cpuSeconds, peakMiB, leaseMs, writes, settledMs } = harm;
  const cells = [canaryMs, probeMs, delay.p999, delay.max, leaseMs].map((ms) => ms.toFixed(0));
  return `| ${[what, ...cells, (settledMs / 1_000).toFixed(1), cpuSeconds.toFixed(1), peakMiB.toFixed(0), writes].join(' | ')} |`;
};

const remove = async ({ plane }: Trial, kinds: string): Promise<void> => {
  await plane.kubectl(['delete', kinds, '--all', '--namespace', 'hostile', '--wait=true']);
  await pause(5_000);
};

const OF_SERVERS = 'vmcp,deployments,services,configmaps,serviceaccounts';

const trial = await startTrial();
try {
  const one = [hostileObject('MCPGroup', 'one', {}), member('only', 'one')];
  await sendAll(trial, one);
  await pause(5_000);
  // First: what goes with a server is collected for a while after it, and the machine is shared.
  let burst: readonly number[] = [];
  const burstHarm = await trial.during(async () => {
    burst = await untilDeployed(
      trial,
      named(count, (index) => server(`burst-${index}`, 'one')),
    );
  });
  const bare = await untilStored(trial, await bareChildren(trial));
  await remove(trial, OF_SERVERS);
  let alone: readonly number[] = [];
  await trial.plane.withoutControllers(async () => {
    alone = await untilDeployed(
      trial,
      named(count, (index) => server(`alone-${index}`, 'one')),
    );
  });
  await remove(trial, OF_SERVERS);
  const single: number[] = [];
  for (const each of named(count, (index) => server(`single-${index}`, 'one'))) {
    await pause(200);
    const [ms = NaN] = await untilDeployed(trial, [each]);
    single.push(ms);
    await trial.send('DELETE', each);
    await trial.plane.kubectl([
      'delete',
      'deployment',
      `vmcp-${each.metadata.name}`,
      '-n',
      'hostile',
      '--ignore-not-found',
    ]);
  }
  await remove(trial, OF_SERVERS);

  const rows: string[] = [];
  const worst: AttackImpact[] = [];
  const attack = async (what: string, act: () => Promise<unknown>): Promise<AttackImpact> => {
    const harm = await trial.during(act);
    worst.push(harm);
    rows.push(row(what, harm));
    console.log(rows.at(-1));
    return harm;
  };
  for (const [name, object] of Object.entries(handmade)) await attack(name, () => trial.send('POST', object));
  await remove(trial, 'vmcp,compositetool,mcpserverentry');
  for (const { kind, object } of ordinary) {
    const all = inflated(object).map((each, index) => ({
      ...each.object,
      metadata: { name: `h${index}`, namespace: 'hostile' },
    }));
    await attack(`${kind}: ${all.length} times, each with one field as large as it may be`, () =>
      sendAll(trial, all, 1),
    );
    await remove(trial, kind);
  }
  const many = [hostileObject('MCPGroup', 'many', {}), ...named(2_000, (index) => member(`m${index}`, 'many'))];
  await attack('2,000 entries of one group', () => sendAll(trial, many));
  await attack('10 servers in front of them', () =>
    sendAll(
      trial,
      named(10, (index) => server(`wide-${index}`, 'many')),
    ),
  );
  await remove(trial, OF_SERVERS);
  await attack('3,000 entries more', () =>
    sendAll(
      trial,
      named(3_000, (index) => member(`n${index}`, 'many')),
    ),
  );
  const beyond = await attack('16 servers in front of 5,000', () =>
    sendAll(
      trial,
      named(16, (index) => server(`more-${index}`, 'many')),
    ),
  );

  const most = (of: (harm: AttackImpact) => number): number => Math.max(...worst.map(of));
  const report = targetTable([
    atMost(`milliseconds until a server has its Deployment, ${count} one by one, p50`, 150, quantile(single, 0.5), 0),
    atMost('the same, p99', 600, quantile(single, 0.99), 0),
    atMost(`seconds until a server has its Deployment, ${count} at once, p99`, 4, quantile(burst, 0.99) / 1_000),
    atMost(
      'the same as a multiple of the time in which a client that does nothing else writes the same children',
      2,
      quantile(burst, 0.99) / quantile(bare, 0.99),
    ),
    atMost('the same while the controllers of the cluster stand still', 4, quantile(alone, 0.99) / 1_000),
    atMost('writes per server of these', 5, burstHarm.writes / count),
    atMost(
      'under attack: milliseconds until a change in another namespace is served, at most',
      3_000,
      most((harm) => harm.canaryMs),
      0,
    ),
    atMost(
      'under attack: delay of the event loop in milliseconds, p99.9',
      100,
      most((harm) => harm.delay.p999),
      0,
    ),
    atMost(
      'under attack: seconds that the Lease was not renewed, at most',
      10,
      most((harm) => harm.leaseMs) / 1_000,
      1,
    ),
    atMost(
      'under attack: milliseconds until both probes answered, at most',
      3_000,
      most((harm) => harm.probeMs),
      0,
    ),
    atMost(
      'under attack: peak memory in MiB',
      512,
      most((harm) => harm.peakMiB),
      0,
    ),
    atMost('seconds until 16 servers in front of 5,000 entries are settled', 60, beyond.settledMs / 1_000, 1),
  ]);
  const head =
    '| attack | canary ms | probes ms | delay p99.9 ms | delay max ms | Lease ms | settled s | CPU s | memory MiB | writes |\n|---|---|---|---|---|---|---|---|---|---|';
  const whole = `${report}\n\n${head}\n${rows.join('\n')}`;
  console.log(whole);
  if (values.write) await publish('hostile', `${count} servers`, whole);
} finally {
  await trial.stop();
}
