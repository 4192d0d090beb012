import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryBytesOf } from '../../../operator/cache/memory-bytes.ts';
import { StatusPoller } from '../../../operator/engine/status-poller.ts';
import type { KubeObject, ObjectKey } from '../../../operator/object.ts';
import type { StatusReport } from '../../../runtime/status/report.ts';
import { manualClock } from './manual-clock.ts';
import type { ManualClock } from './manual-clock.ts';

const key: ObjectKey = { kind: 'VirtualMCPServer', namespace: 'here', name: 'one' };

const pod = (name: string, podIP: string, phase = 'Running'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'here' },
  status: { phase, podIP },
});

const report = (toolCount: number): StatusReport => ({
  version: '1',
  config: { hash: 'h' },
  toolCount,
  backends: [],
  collisions: [],
});

interface Bench {
  readonly clock: ManualClock;
  readonly puller: StatusPoller;
  /** `<address> <token>` and when. */
  readonly asked: string[];
  readonly changes: number[];
  /** Pods that fell silent. */
  readonly silent: string[];
  pods: readonly KubeObject[];
  toolCount: number;
  readonly stopping: AbortController;
}

const startPuller = (maxNamespaceBytes?: number): Bench => {
  const clock = manualClock(0);
  const stopping = new AbortController();
  const bench: Omit<Bench, 'puller'> = {
    clock,
    asked: [],
    changes: [],
    silent: [],
    pods: [pod('a', '10.0.0.1')],
    toolCount: 1,
    stopping,
  };
  const puller = new StatusPoller(
    {
      clock,
      podsOf: () => bench.pods,
      fetchStatus: ({ podIP, token }) => {
        bench.asked.push(`${podIP} ${token}@${clock.now()}`);
        return podIP === '10.0.0.9' ? Promise.reject(new Error('timeout')) : Promise.resolve(report(bench.toolCount));
      },
      onUnreachable: ({ metadata }) => bench.silent.push(metadata.name),
      onChange: () => bench.changes.push(clock.now()),
    },
    maxNamespaceBytes,
  );
  puller.start((uid) => Promise.resolve(`for-${uid}`), stopping.signal);
  return Object.assign(bench, { puller });
};

test('the pods of a followed server are asked soon, then ever more rarely down to its interval', async () => {
  const { clock, puller, asked } = startPuller();
  puller.poll(key, 'u1', 4000);
  await clock.advance(16_000);
  assert.deepEqual(
    asked,
    [500, 1500, 3500, 7500, 11_500, 15_500].map((at) => `10.0.0.1 for-u1@${at}`),
  );
});

test('a server that wants to be asked all the time is asked every second', async () => {
  const { clock, puller, asked } = startPuller();
  puller.poll(key, 'u1', 0.000001);
  await clock.advance(10_500);
  assert.deepEqual(
    asked.map((one) => one.split('@')[1]),
    [500, ...Array.from({ length: 10 }, (_, second) => 1500 + second * 1000)].map(String),
  );
});

test('a reconcile is due only when what the pods say is not what they said', async () => {
  const bench = startPuller();
  bench.puller.poll(key, 'u1', 4000);
  await bench.clock.advance(10_000);
  assert.deepEqual(bench.changes, [500]);
  bench.toolCount = 2;
  await bench.clock.advance(4000);
  assert.deepEqual(bench.changes, [500, 11_500]);
  assert.deepEqual(bench.puller.reports(key), new Map([['a', report(2)]]));
});

test('a pod that does not answer is said to be unreachable; one that does not run is not asked', async () => {
  const bench = startPuller();
  bench.pods = [pod('a', '10.0.0.1'), pod('b', '10.0.0.9'), pod('c', '10.0.0.2', 'Pending')];
  bench.puller.poll(key, 'u1', 4000);
  await bench.clock.advance(500);
  assert.deepEqual(
    [...bench.puller.reports(key)].map(([name, said]) => [name, said === 'unreachable']),
    [
      ['a', false],
      ['b', true],
    ],
  );
  await bench.clock.advance(8000);
  assert.deepEqual(bench.silent, ['b'], 'its silence is told once');
});

test('a change of the pods brings the next question forward', async () => {
  const { clock, puller, asked } = startPuller();
  puller.poll(key, 'u1', 60_000);
  await clock.advance(40_000);
  const before = asked.length;
  puller.pollSoon(key);
  await clock.advance(500);
  assert.equal(asked.length, before + 1);
});

test('following again with the same interval changes nothing', async () => {
  const { clock, puller, asked } = startPuller();
  puller.poll(key, 'u1', 4000);
  for (let ms = 0; ms < 4000; ms += 100) {
    puller.poll(key, 'u1', 4000);
    await clock.advance(100);
  }
  assert.equal(asked.length, 3);
});

test('a server made anew under the same name is asked with a token for the new one', async () => {
  const { clock, puller, asked } = startPuller();
  puller.poll(key, 'u1', 4000);
  await clock.advance(600);
  puller.poll(key, 'u2', 4000);
  await clock.advance(500);
  assert.deepEqual(asked, ['10.0.0.1 for-u1@500', '10.0.0.1 for-u2@1100']);
});

test('a forgotten server is not polled, and none is after the stop', async () => {
  const { clock, puller, asked, stopping } = startPuller();
  puller.poll(key, 'u1', 4000);
  puller.forget(key);
  puller.poll({ ...key, name: 'two' }, 'u2', 4000);
  stopping.abort();
  await clock.advance(60_000);
  assert.deepEqual(asked, []);
  assert.equal(puller.reports(key).size, 0);
});

test('the reports of one namespace have a bound: of the pods beyond it nothing is known', async () => {
  const one = memoryBytesOf(report(1));
  const bench = startPuller(3 * one);
  bench.pods = ['a', 'b'].map((name) => pod(name, '10.0.0.1'));
  const [two, elsewhere] = [
    { ...key, name: 'two' },
    { ...key, namespace: 'there' },
  ];
  for (const each of [key, two, elsewhere]) bench.puller.poll(each, each.name, 60_000);
  await bench.clock.advance(500);
  const known = (of: ObjectKey): readonly boolean[] =>
    [...bench.puller.reports(of).values()].map((said) => said !== 'unreachable');
  await bench.clock.advance(1000);
  assert.deepEqual(
    [known(key), known(two), known(elsewhere)],
    [
      [true, true],
      [true, false],
      [true, true],
    ],
  );
  assert.ok(bench.silent.includes('b'), 'it is told');
  bench.pods = ['a', 'b'].map((name) => pod(name, name === 'a' ? '10.0.0.9' : '10.0.0.1'));
  bench.puller.pollSoon(key);
  await bench.clock.advance(500);
  assert.deepEqual(
    [known(key), known(elsewhere)],
    [
      [false, true],
      [true, true],
    ],
  );
  bench.puller.pollSoon(two);
  await bench.clock.advance(500);
  assert.deepEqual(known(two), [false, true], 'what the silent pod had is free');
  bench.pods = ['a', 'b'].map((name) => pod(name, '10.0.0.1'));
  bench.puller.forget(key);
  bench.puller.pollSoon(two);
  await bench.clock.advance(500);
  assert.deepEqual(known(two), [true, true]);
});

test('a report that is as it was stays the object that it was', async () => {
  const bench = startPuller();
  bench.puller.poll(key, 'u1', 1000);
  await bench.clock.advance(500);
  const first = bench.puller.reports(key).get('a');
  await bench.clock.advance(5000);
  assert.ok(first !== undefined && bench.puller.reports(key).get('a') === first);
  assert.deepEqual(bench.changes, [500]);
});
