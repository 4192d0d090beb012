import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PendingStream } from '../../../runtime/edge/pending-stream.ts';

const opened = (pending: PendingStream): readonly string[] => {
  const events: string[] = [];
  pending.open(
    {
      send: (data) => events.push(data.toString()) > 0,
      backlog: () => undefined,
      end: () => void events.push('end'),
      onClosed: () => {},
    },
    Buffer.from('first'),
  );
  return events;
};

describe('a stream that is not there yet', () => {
  test('gets later what was sent to it, after what comes first', () => {
    const pending = new PendingStream();
    pending.send(Buffer.from('early'));
    const events = opened(pending);
    pending.send(Buffer.from('late'));
    assert.deepEqual(events, ['first', 'early', 'late']);
  });

  test('ends as soon as it is there when it was ended before', () => {
    const pending = new PendingStream();
    pending.end();
    assert.deepEqual(opened(pending), ['first', 'end']);
  });

  test('takes so many bytes and no more, and then ends', () => {
    const pending = new PendingStream();
    pending.send(Buffer.from('x'));
    pending.send(Buffer.alloc(1024 * 1024));
    pending.send(Buffer.from('y'));
    assert.deepEqual(opened(pending), ['first', 'x', 'end']);
  });
});

describe('a stream that is held back', () => {
  test('tells what waits, in order, once it is released', () => {
    const pending = new PendingStream();
    const events = opened(pending);
    pending.hold();
    for (const each of ['a', 'b']) pending.send(Buffer.from(each));
    assert.deepEqual(events, ['first']);
    pending.release();
    pending.send(Buffer.from('c'));
    assert.deepEqual(events, ['first', 'a', 'b', 'c']);
  });

  test('opens all the same, and tells the rest later', () => {
    const pending = new PendingStream();
    pending.hold();
    pending.send(Buffer.from('a'));
    const events = opened(pending);
    assert.deepEqual(events, ['first']);
    pending.release();
    assert.deepEqual(events, ['first', 'a']);
  });

  test('tells nothing of it when it is cut', () => {
    const pending = new PendingStream();
    const events = opened(pending);
    pending.hold();
    pending.send(Buffer.from('secret'));
    pending.cut();
    pending.release();
    assert.deepEqual(events, ['first', 'end']);
  });

  test('ends when more waits than it may keep, each time anew', () => {
    const pending = new PendingStream();
    const events = opened(pending);
    const half = Buffer.alloc(600 * 1024);
    for (let round = 0; round < 2; round += 1) {
      pending.hold();
      pending.send(half);
      pending.release();
    }
    assert.equal(events.includes('end'), false);
    pending.hold();
    for (let each = 0; each < 2; each += 1) pending.send(half);
    assert.equal(events.at(-1), 'end');
  });
});
