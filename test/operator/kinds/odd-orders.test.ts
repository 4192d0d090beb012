import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyOf, keyText } from '../../../operator/object.ts';
import { conditionsIn } from '../../../operator/plan/conditions.ts';
import { planOf } from '../plan/plan-with-everything-built.ts';
import { group, server as virtualServer } from '../plan/plan-of-demo.ts';
import { isRuntime, oddCluster, pathIn } from './odd-cluster.ts';
import { SHAPES } from './shapes.ts';

const INVALID = { podTemplateSpec: { spec: { containers: 5 } } };
const RUNS_PODS = ['Deployment', 'StatefulSet'];
const runsBehind = (kind: string, name: string): boolean => RUNS_PODS.includes(kind) && name.endsWith('-backend');

type Cluster = ReturnType<typeof oddCluster>;

const running = async (spec: object): Promise<Cluster> => {
  const cluster = oddCluster();
  cluster.ask(spec);
  await cluster.settle();
  return cluster;
};

const names = (cluster: Cluster): readonly string[] =>
  cluster
    .children()
    .map((child) => keyText(keyOf(child)))
    .sort();

/** Pods that a caller gets an answer from: a runtime in front answers with what is behind it. */
const answering = (cluster: Cluster): number => {
  const reached = cluster.behind('mcpserver-weather');
  return reached.some(isRuntime)
    ? Math.min(reached.length, cluster.behind('mcpserver-weather-backend').length)
    : reached.length;
};

interface Told {
  readonly phase: string;
  readonly message: string;
  readonly url: string;
  readonly readyReplicas: number;
  readonly conditions: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
}
const told = (cluster: Cluster): Told => cluster.server()['status'] as Told;
const holds = (cluster: Cluster, type: string): boolean =>
  told(cluster).conditions.some((each) => each.type === type && each.status === 'True');

const reasons = (cluster: Cluster, type: string): readonly string[] =>
  conditionsIn(cluster.server()['status']).flatMap((each) => (each.type === type ? [each.reason] : []));

const isFronted = (spec: object): boolean => 'rateLimiting' in spec;

/** Nobody gets by the runtime that a spec in effect asks for, and where one is missing, status says so. */
const assertGuarded = (cluster: Cluster, spec: object): void => {
  const isOpen = cluster.behind('mcpserver-weather').some((pod) => !isRuntime(pod));
  assert.equal(
    isOpen && isFronted(spec),
    holds(cluster, 'ServesWithoutAuth'),
    'an open container, and what status says',
  );
};

/** What status says, and where VirtualMCPServers go, is what callers find. */
const assertTrue = (cluster: Cluster): void => {
  const { phase, url, readyReplicas } = told(cluster);
  const count = answering(cluster);
  assert.equal(readyReplicas, count, 'readyReplicas');
  if (!holds(cluster, 'ServesWithoutAuth')) assert.equal(phase === 'Ready', count > 0, `phase ${phase}`);
  const [pod] = cluster.behind('mcpserver-weather');
  if (pod === undefined) return;
  assert.equal(new URL(url).pathname, isRuntime(pod) ? '/mcp' : pathIn(pod));
  const member = {
    ...cluster.server(),
    spec: { ...(cluster.server()['spec'] as object), groupRef: { name: 'tools' } },
  };
  const backends = planOf(virtualServer(), group(), member).config?.['backends.yaml'] ?? '';
  const transport = url.endsWith('/sse') ? 'sse' : 'streamable-http';
  assert.ok(backends.includes(`url: ${url}\n    transport: ${transport}\n`), backends);
};

/**
 * Every shape of an MCPServer turned into every other one: accepted, refused by a rule of ours, or its pods refused by
 * the API server; then scaled to zero, and made again.
 */
for (const [from, before] of Object.entries(SHAPES)) {
  for (const [to, after] of Object.entries(SHAPES)) {
    const [was, wanted] = [
      { image: 'a', ...before },
      { image: 'b', ...after },
    ];
    test(`${from} becomes ${to}, and nothing of it stays`, async () => {
      const cluster = await running(was);
      cluster.ask(wanted);
      await cluster.look();
      assert.equal(isFronted(wanted) && cluster.behind('mcpserver-weather').some((pod) => !isRuntime(pod)), false);
      await cluster.settle();
      assertGuarded(cluster, wanted);
      assertTrue(cluster);
      assert.deepEqual(names(cluster), names(await running(wanted)));
    });

    test(`${from} is to become ${to}, which a rule refuses: it goes on, and comes back as it was`, async () => {
      const cluster = await running(was);
      const there = names(cluster);
      cluster.ask({ ...wanted, ...INVALID });
      await cluster.settle();
      assert.deepEqual([names(cluster), holds(cluster, 'Valid')], [there, false]);
      assert.ok(answering(cluster) > 0);
      assertGuarded(cluster, wanted);
      assertTrue(cluster);
      cluster.ask(was);
      await cluster.settle();
      assertTrue(cluster);
      assert.deepEqual(names(cluster), there);
    });

    test(`${from} is to become ${to}, whose pods the API server refuses: what runs stays, and no request bypasses the runtime`, async () => {
      const cluster = await running(was);
      cluster.ask(wanted, RUNS_PODS);
      await cluster.settle();
      assert.deepEqual([cluster.removed, holds(cluster, 'ChildRefused')], [[], true]);
      assertGuarded(cluster, wanted);
      assertTrue(cluster);
      cluster.ask(wanted);
      await cluster.settle();
      assert.deepEqual(names(cluster), names(await running(wanted)));
      assertTrue(cluster);
    });
  }
}

for (const [from, before] of Object.entries(SHAPES)) {
  for (const [to, after] of Object.entries(SHAPES).filter(([, spec]) => isFronted(spec))) {
    test(`${from} becomes ${to}, and its Service cannot be changed: status says who gets by the runtime`, async () => {
      const cluster = await running({ image: 'a', ...before });
      cluster.ask({ image: 'b', ...after }, ['Service']);
      await cluster.look();
      assertGuarded(cluster, after);
      await cluster.settle();
      assertGuarded(cluster, after);
      const said = told(cluster);
      await cluster.look();
      assert.deepEqual(told(cluster), said, 'nothing new is told at rest');
      cluster.ask({ image: 'b', ...after });
      await cluster.look();
      assertGuarded(cluster, after);
      await cluster.settle();
      assertGuarded(cluster, after);
      assertTrue(cluster);
    });
  }
}

for (const [from, before] of Object.entries(SHAPES).filter(([, spec]) => isFronted(spec))) {
  for (const [to, after] of Object.entries(SHAPES)) {
    test(`${from} is to become ${to}, which a rule refuses: what is deleted of it meanwhile comes back`, async () => {
      const cluster = await running({ image: 'a', ...before });
      const there = names(cluster);
      cluster.ask({ image: 'b', ...after, ...INVALID });
      await cluster.settle();
      const lost = cluster.children().filter(({ kind, metadata }) => runsBehind(kind, metadata.name));
      for (const child of lost) cluster.objects.delete(keyText(keyOf(child)));
      await cluster.settle();
      assert.deepEqual([lost.length, names(cluster)], [1, there]);
      assertGuarded(cluster, before);
      assertTrue(cluster);
    });
  }
}

for (const [from, before] of Object.entries(SHAPES)) {
  for (const [over, between] of Object.entries(SHAPES)) {
    for (const [to, after] of Object.entries(SHAPES)) {
      test(`${from}, then ${over} whose pods are refused, then ${to} with a mistake: status says whether what runs is reached`, async () => {
        const cluster = await running({ image: 'a', ...before });
        cluster.ask({ image: 'b', ...between }, RUNS_PODS);
        await cluster.settle();
        cluster.ask({ image: 'c', ...after, ...INVALID }, ['Service']);
        await cluster.settle();
        assertTrue(cluster);
        cluster.ask({ image: 'c', ...after, ...INVALID });
        await cluster.settle();
        if (!isFronted(after)) assert.ok(answering(cluster) > 0);
        assertGuarded(cluster, after);
        assertTrue(cluster);
      });
    }
  }
}

for (const refusing of [[], RUNS_PODS, [...RUNS_PODS, 'Service']]) {
  test(`a label of the runtime that was stored in a pod template hides no bypass from the status; refused: ${refusing.join(', ')}`, async () => {
    const cluster = await running({ image: 'a', transport: 'streamable-http' });
    for (const [key, object] of cluster.objects) {
      if (object.kind !== 'Deployment') continue;
      const spec = object['spec'] as { readonly template: { readonly metadata: { readonly labels: object } } };
      const labels = { ...spec.template.metadata.labels, 'vmcp.dev/runtime': 'true' };
      const template = { ...spec.template, metadata: { ...spec.template.metadata, labels } };
      cluster.objects.set(key, { ...object, spec: { ...spec, template } });
    }
    cluster.roll();
    const wanted = { image: 'a', ...SHAPES['fronted http'] };
    cluster.ask(wanted, refusing);
    await cluster.look();
    assert.deepEqual(reasons(cluster, 'ServesWithoutAuth'), ['PodsFromBefore']);
    assertGuarded(cluster, wanted);
  });
}

for (const [shape, spec] of Object.entries(SHAPES)) {
  test(`${shape}, scaled to zero and back: everything but its pods stays`, async () => {
    const cluster = await running({ image: 'a', ...spec });
    const there = names(cluster);
    cluster.ask({ image: 'a', ...spec, replicas: 0 });
    await cluster.settle();
    assert.deepEqual([names(cluster), cluster.removed, told(cluster).phase], [there, [], 'Stopped']);
    assertTrue(cluster);
    cluster.ask({ image: 'a', ...spec, replicas: 2 });
    await cluster.settle();
    assert.equal(answering(cluster), 2);
    assertTrue(cluster);
  });

  for (const [other, after] of Object.entries(SHAPES)) {
    test(`${shape}, deleted and made again as ${other}: it takes over nothing, and comes when the old one has gone`, async () => {
      const cluster = await running({ image: 'a', ...spec });
      const old = [...cluster.objects.values()].filter(({ kind }) => kind !== 'MCPServer');
      cluster.makeAgain({ image: 'b', ...after });
      await cluster.look();
      for (const object of old) assert.equal(cluster.objects.get(keyText(keyOf(object))), object);
      assert.deepEqual([cluster.removed, holds(cluster, 'ChildConflict'), told(cluster).url], [[], true, undefined]);
      cluster.collectGarbage();
      await cluster.settle();
      assert.equal(holds(cluster, 'ChildConflict'), false);
      assertGuarded(cluster, after);
      assertTrue(cluster);
      assert.deepEqual(names(cluster), names(await running({ image: 'b', ...after })));
    });
  }
}
