import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { ROOTS_CHANGES_MS, RootsChanges } from '../../../runtime/edge/roots-changes.ts';
import { count, type FixtureBackend, startBackend } from '../../fixtures/backend.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';
import { openSession } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';

const METHOD = 'notifications/roots/list_changed';
const CHANGED = { jsonrpc: '2.0', method: METHOD };

const told = (backend: FixtureBackend): number => count(backend, METHOD);

suite('a client that says again and again that its roots have changed', () => {
  test('costs each backend of its session one message at once, and then one in a while', async () => {
    const backends = await Promise.all([startBackend(), startBackend(), startBackend()]);
    const [a, b, uncalled] = backends;
    const clock = frozenClock();
    const running = await startRuntime(configFile({ a: a.url, b: b.url, uncalled: uncalled.url }), {}, { clock });
    const session = await openSession(running.url, { roots: { listChanged: true } });
    for (const name of ['a_echo', 'b_echo']) assert.equal((await session.call(name)).status, 200);
    const flood = async () => {
      for (let i = 0; i < 25; i += 1) assert.equal((await session.send(CHANGED)).status, 202);
      // What was relayed before a call is there when the call is answered.
      for (const name of ['a_echo', 'b_echo']) await session.call(name);
    };
    await flood();
    assert.deepEqual(backends.map(told), [1, 1, 0]);
    clock.advance(ROOTS_CHANGES_MS);
    while (told(a) + told(b) < 4) await setTimeout(5);
    await flood();
    assert.deepEqual(backends.map(told), [2, 2, 0]);
    clock.advance(60_000);
    const stopped = running.stop();
    clock.advance(60_000);
    await Promise.all([stopped, ...backends.map((backend) => backend.close())]);
  });

  test('has the newest message sent, and no large one', async () => {
    const relayed: string[] = [];
    const clock = frozenClock();
    const changes = new RootsChanges({ clock, relay: (bytes) => void relayed.push(bytes.toString()) });
    for (const text of ['1', '2', '3']) void changes.note(Buffer.from(text));
    clock.advance(ROOTS_CHANGES_MS);
    void changes.note(Buffer.from('x'.repeat(5_000)));
    clock.advance(ROOTS_CHANGES_MS);
    assert.deepEqual(relayed, ['1', '3', JSON.stringify(CHANGED)]);
    assert.deepEqual(clock.pending(), []);
  });

  test('is relayed at once when the last time was long ago, also where the clock was set back', () => {
    const relayed: string[] = [];
    const clock = frozenClock();
    let aheadMs = 3_600_000;
    const changes = new RootsChanges({
      clock: { ...clock, now: () => clock.now() + aheadMs },
      relay: (bytes) => void relayed.push(bytes.toString()),
    });
    void changes.note(Buffer.from('1'));
    aheadMs = 0;
    void changes.note(Buffer.from('2'));
    clock.advance(ROOTS_CHANGES_MS);
    assert.deepEqual(relayed, ['1', '2']);
  });

  test('is not held up by a failure', async () => {
    const clock = frozenClock();
    const changes = new RootsChanges({ clock, relay: async () => Promise.reject(new Error('store away')) });
    await assert.rejects(async () => changes.note(Buffer.from('1')));
    void changes.note(Buffer.from('2'));
    clock.advance(ROOTS_CHANGES_MS);
    await Promise.resolve();
  });
});
