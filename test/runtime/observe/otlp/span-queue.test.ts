import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { suite, test } from 'node:test';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { ExportError } from '../../../../runtime/observe/otlp/otlp-sender.ts';
import { MAX_SPANS, SpanQueue } from '../../../../runtime/observe/otlp/span-queue.ts';
import { frozenClock } from '../../../fixtures/frozen-clock.ts';

const spanOf = (name: string, traceFlags = 1): ReadableSpan =>
  ({ name, spanContext: () => ({ traceId: 't', spanId: 's', traceFlags }) }) as unknown as ReadableSpan;

const setUp = (send: (spans: readonly ReadableSpan[]) => Promise<number>) => {
  const clock = frozenClock();
  const counts: Record<string, number> = {};
  const batches: number[] = [];
  const errors: unknown[] = [];
  const queue = new SpanQueue({
    send: (spans) => {
      batches.push(spans.length);
      return send(spans);
    },
    outcomes: {
      spans: (outcome, count) => void (counts[outcome] = (counts[outcome] ?? 0) + count),
      ended: (_signal, error) => void (error !== undefined && errors.push(error)),
    },
    clock,
    random: () => 0,
  });
  const add = (count: number): void => {
    for (let at = 0; at < count; at += 1) queue.onEnd(spanOf(`s${at}`));
  };
  const advance = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await setImmediate();
  };
  return { queue, add, advance, counts, batches, errors };
};

const busy = () => Promise.reject(new ExportError('busy', { mayBeRepeated: true, retryAfterMs: 20_000 }));

suite('the queue of spans', () => {
  test('sends what has ended within a second, together', async () => {
    const { add, advance, counts, batches } = setUp(async () => 0);
    add(3);
    await advance(999);
    assert.deepEqual(batches, []);
    await advance(1);
    assert.deepEqual([batches, counts], [[3], { exported: 3 }]);
  });

  test('sends a full batch at once, and the rest after it', async () => {
    const { add, advance, counts, batches } = setUp(async () => 0);
    add(600);
    await advance(0);
    assert.deepEqual(batches, [512]);
    await advance(1_000);
    assert.deepEqual([batches, counts], [[512, 88], { exported: 600 }]);
  });

  test('takes no span that is not sampled', async () => {
    const { queue, advance, batches } = setUp(async () => 0);
    queue.onEnd(spanOf('x', 0));
    await advance(10_000);
    assert.deepEqual(batches, []);
  });

  test('holds a bounded number, and counts what it drops', async () => {
    const { add, advance, counts, batches } = setUp(() => new Promise(() => {}));
    add(MAX_SPANS + 7);
    await advance(60_000);
    add(1);
    assert.deepEqual([batches, counts], [[512], { dropped: 8 }]);
  });

  test('sends a batch again, as late as the collector asks, and gives it up after five attempts', async () => {
    const { add, advance, counts, batches, errors } = setUp(busy);
    add(2);
    await advance(1_000);
    await advance(19_999);
    assert.deepEqual(batches, [2]);
    await advance(1);
    assert.deepEqual(batches, [2, 2]);
    for (let at = 0; at < 3; at += 1) {
      assert.deepEqual(counts, {});
      await advance(20_000);
    }
    assert.deepEqual([batches.length, errors.length, counts], [5, 5, { failed: 2 }]);
    await advance(60_000);
    assert.equal(batches.length, 5);
  });

  test('does not send again what is refused for good', async () => {
    const { add, advance, counts, batches } = setUp(() =>
      Promise.reject(new ExportError('no', { mayBeRepeated: false })),
    );
    add(2);
    await advance(1_000);
    await advance(60_000);
    assert.deepEqual([batches, counts], [[2], { failed: 2 }]);
  });

  test('sends everything at its end, each batch once, and takes nothing more', async () => {
    const { queue, add, counts, batches } = setUp(busy);
    add(600);
    await queue.shutdown();
    add(1);
    assert.deepEqual([batches, counts], [[512, 88], { failed: 600, dropped: 1 }]);
  });
});
