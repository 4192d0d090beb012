import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Destination, Written } from '../../../../runtime/observe/audit/destination.ts';
import { EventQueue, type QueueBounds } from '../../../../runtime/observe/audit/event-queue.ts';
import { frozenClock } from '../../../fixtures/frozen-clock.ts';

const BOUNDS: QueueBounds = { lines: 5, bytes: 1_000, batchLines: 3, batchWaitMs: 100 };

/** A queue whose destination answers when, and what, the test says. */
const make = (bounds: Partial<QueueBounds> = {}) => {
  const clock = frozenClock();
  const writes: string[] = [];
  const counts = { written: 0, dropped: 0, failed: 0 };
  let answer: (bytes: number) => Promise<Written> = async (written) => ({ written });
  const destination: Destination = {
    writeBytes: 64,
    write: (lines) => {
      writes.push(lines.toString());
      return answer(lines.length);
    },
    close: async () => void writes.push('closed'),
  };
  const queue = new EventQueue(
    { ...BOUNDS, ...bounds },
    {
      clock,
      destination,
      onDropped: () => (counts.dropped += 1),
      onWritten: (lines) => (counts.written += lines),
      onError: () => (counts.failed += 1),
    },
  );
  return {
    queue,
    clock,
    writes,
    counts,
    answerWith: (next: typeof answer) => {
      answer = next;
    },
  };
};

describe('a queue of events', () => {
  test('writes a batch when its time is over, or when it is full', async () => {
    const { queue, clock, writes } = make();
    queue.add('1');
    queue.add('2');
    await setImmediate();
    assert.deepEqual(writes, []);
    clock.advance(100);
    await setImmediate();
    assert.deepEqual(writes, ['1\n2\n']);
    for (const line of ['3', '4', '5']) queue.add(line);
    clock.advance(0);
    await setImmediate();
    assert.deepEqual(writes, ['1\n2\n', '3\n4\n5\n']);
  });

  test('writes what comes during a write with others again, unless it makes a batch', async () => {
    const { queue, clock, writes, answerWith } = make({ lines: 20 });
    let writing = Promise.withResolvers<void>();
    answerWith(async (written) => {
      await writing.promise;
      return { written };
    });
    const goOn = async () => {
      writing.resolve();
      await setImmediate();
      writing = Promise.withResolvers();
    };
    for (const line of ['1', '2', '3', '4']) queue.add(line);
    await goOn();
    assert.deepEqual(writes, ['1\n2\n3\n']);
    clock.advance(100);
    assert.deepEqual(writes.slice(1), ['4\n']);
    for (const line of ['5', '6', '7', '8']) queue.add(line);
    await goOn();
    assert.deepEqual(writes.slice(2), ['5\n6\n7\n']);
    await goOn();
    assert.deepEqual(writes.slice(3), []);
    const closing = queue.close();
    queue.add('9');
    writing.resolve();
    await closing;
    assert.deepEqual(writes.slice(3), ['8\n', '9\n', 'closed']);
  });

  test('waits for its turn where somebody waits for a line that comes during a write', async () => {
    const { queue, writes, answerWith } = make();
    const writing = Promise.withResolvers<void>();
    answerWith(async (written) => {
      await writing.promise;
      return { written };
    });
    const first = queue.confirm('1');
    queue.add('2');
    const third = queue.confirm('3');
    writing.resolve();
    assert.deepEqual(await Promise.all([first, third]), [true, true]);
    assert.deepEqual(writes, ['1\n', '2\n3\n']);
  });

  test('writes no more bytes at a time than go through in one piece, but a long line whole', async () => {
    const { queue, writes } = make({ batchLines: 10 });
    for (const line of ['a'.repeat(40), 'b'.repeat(30), 'c'.repeat(200), 'd']) queue.add(line);
    await queue.close();
    assert.deepEqual(
      writes.map((each) => each.length),
      [41, 31, 201, 2, 6],
    );
  });

  test('writes no more lines at a time than a batch has, however many fit into a write', async () => {
    const { queue, writes } = make({ batchLines: 1, lines: 9 });
    for (const line of ['1', '2', '3']) queue.add(line);
    await queue.close();
    assert.deepEqual(writes, ['1\n', '2\n', '3\n', 'closed']);
  });

  test('drops what finds no room, by number and by bytes, and counts that', async () => {
    const { queue, counts, writes } = make({ lines: 2, batchLines: 10 });
    for (const line of ['1', '2', '3']) queue.add(line);
    assert.equal(counts.dropped, 1);
    await queue.close();
    assert.deepEqual(writes, ['1\n2\n', 'closed']);
    const short = make({ bytes: 10, lines: 100, batchLines: 10 });
    short.queue.add('x'.repeat(50));
    short.queue.add('y');
    assert.equal(short.counts.dropped, 1, 'only the first may be longer than all');
  });

  test('keeps what cannot be written, tries again, and writes no line twice', async () => {
    const { queue, clock, writes, counts, answerWith } = make();
    answerWith(async () => ({ written: 3, error: new Error('no space') }));
    for (const line of ['1', '2', '3']) queue.add(line);
    clock.advance(0);
    await setImmediate();
    assert.deepEqual([writes, counts], [['1\n2\n3\n'], { written: 1, dropped: 0, failed: 1 }]);
    answerWith(async (written) => ({ written }));
    clock.advance(1_000);
    await setImmediate();
    assert.deepEqual([writes[1], counts.written], ['2\n3\n', 3]);
  });

  test('confirms a line once it is written, at once', async () => {
    const { queue, writes } = make();
    assert.equal(await queue.confirm('1'), true);
    assert.deepEqual(writes, ['1\n']);
  });

  test('says of a line that cannot be written that it is not, and tries again at the next one', async () => {
    const { queue, answerWith, writes } = make();
    answerWith(async () => ({ written: 0, error: new Error('no space') }));
    assert.equal(await queue.confirm('1'), false);
    answerWith(async (written) => ({ written }));
    assert.equal(await queue.confirm('2'), true);
    assert.deepEqual(writes, ['1\n', '1\n2\n']);
  });

  test('lets nobody wait longer than 10 s', async () => {
    const { queue, clock, answerWith, counts } = make();
    const stuck = Promise.withResolvers<Written>();
    answerWith(() => stuck.promise);
    const confirmed = queue.confirm('1');
    clock.advance(10_000);
    assert.equal(await confirmed, false);
    stuck.resolve({ written: 2 });
    await setImmediate();
    assert.equal(counts.written, 1, 'it was written all the same');
  });

  test('counts what is left at its end as dropped', async () => {
    const { queue, answerWith, counts } = make();
    answerWith(async () => ({ written: 0, error: new Error('no space') }));
    queue.add('1');
    const confirmed = queue.confirm('2');
    await queue.close();
    assert.equal(await confirmed, false);
    assert.deepEqual(counts, { written: 0, dropped: 2, failed: 1 });
  });
});
