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
