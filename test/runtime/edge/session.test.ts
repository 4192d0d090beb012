import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { ClientBackendSessions } from '../../../runtime/backends/index.ts';
import { ByteBudget } from '../../../runtime/process/byte-budget.ts';
import { EventLogs, Sessions } from '../../../runtime/edge/index.ts';
import type { Session } from '../../../runtime/edge/session.ts';
import { fakeStream } from '../../fixtures/fake-stream.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';

const CLIENT = { revision: '2025-11-25', capabilities: Buffer.from('{"roots":{}}') };
const MAX_BYTES = 1_000;

let sessions: Sessions;
let session: Session;
beforeEach(() => {
  const budget = new ByteBudget(1_000_000);
  sessions = new Sessions(
    { ttlMs: 60_000, count: 10, calls: 32 },
    {
      clock: frozenClock(),
      newId: () => 'id',
      newBackendSessions: () => new ClientBackendSessions({ owner: () => ({ kind: 'anonymous' }) }),
      newLogs: () => new EventLogs({ prefix: 'p', isPrimed: true, maxBytes: MAX_BYTES, budget }),
    },
  );
  session = sessions.create({ kind: 'anonymous' }, CLIENT);
});

/** A call whose stream takes everything. */
const beginCall = () => {
  const sent: string[] = [];
  const { end } = session.begin(Buffer.from('1'), { send: (message) => sent.push(message.toString()) > 0 });
  return { sent, end };
};

describe('a session with resumption, whose client has closed its own stream,', () => {
  beforeEach(() => {
    const { stream, close } = fakeStream();
    session.listen(stream);
    close();
  });

  test('asks on the stream of a call while there is one', () => {
    const { sent } = beginCall();
    void session.ask({ method: 'roots/list', params: undefined }, new AbortController().signal).catch(() => {});
    assert.match(sent[0] ?? '', /roots\/list/);
  });

  test('keeps what it says between calls for the client to come back to', () => {
    assert.equal(session.sendOnStreamHere(Buffer.from('{}')), true);
    const { stream, messages } = fakeStream();
    assert.equal(session.resume(stream, 'p-1-1'), true);
    assert.deepEqual(messages, ['{}']);
  });

  test('does not take for kept what has no room', async () => {
    assert.equal(session.sendOnStreamHere(Buffer.alloc(MAX_BYTES + 1)), false);
    const { stream, close } = fakeStream();
    session.resume(stream, 'p-1-1');
    close();
    const params = Buffer.from(JSON.stringify({ text: 'x'.repeat(MAX_BYTES) }));
    await assert.rejects(session.ask({ method: 'roots/list', params }, new AbortController().signal), {
      code: 'client_cannot_answer',
    });
  });
});

describe('streams that a session with resumption has opened with GET', () => {
  /** The id of the newest event on the stream of a call. */
  const streamOfCall = (): string => {
    const log = session.logs?.newStream('ofCall');
    log?.begin({ send: () => true, end: () => {} });
    return 'p-1-1';
  };

  test('are four, those of calls that it came back to included', () => {
    const last = streamOfCall();
    session.takePlace(last);
    session.resume(fakeStream().stream, last);
    for (let opened = 1; opened < 4; opened += 1) {
      session.takePlace(undefined);
      session.listen(fakeStream().stream);
    }
    assert.throws(() => session.takePlace(undefined), { code: 'too_many_streams' });
  });

  test('are one for each stream that it goes on with, the connection before ended', () => {
    const last = streamOfCall();
    const connections = Array.from({ length: 10 }, () => fakeStream());
    for (const { stream } of connections) {
      stream.onClosed(session.takePlace(last));
      session.resume(stream, last);
    }
    assert.deepEqual(
      connections.map(({ isEnded }) => isEnded()),
      [...Array.from({ length: 9 }, () => true), false],
    );
    for (const { isEnded, close } of connections) if (isEnded()) close();
    for (let opened = 1; opened < 4; opened += 1) session.takePlace(undefined);
    session.takePlace(last)();
    assert.throws(() => session.takePlace(undefined), { code: 'too_many_streams' });
    connections.at(-1)?.close();
    session.takePlace(undefined);
  });

  test('take what is said once, after the client came back to one that was still open', () => {
    const [before, after] = [fakeStream(), fakeStream()];
    session.listen(before.stream);
    session.resume(after.stream, 'p-1-1');
    before.close();
    session.sendOnStreamHere(Buffer.from('{}'));
    assert.deepEqual([before.messages, after.messages], [[''], ['{}']]);
    after.close();
    assert.equal(session.underWay.streams, 0);
    assert.equal(session.sendOnStreamHere(Buffer.from('{}')), true);
  });
});

for (const how of ['end', 'retire'] as const)
  test(`a stream that opens when its session is over ends at once (${how})`, () => {
    sessions[how](session);
    const { stream, isEnded, messages } = fakeStream();
    session.listen(stream);
    session.notify(Buffer.from('"late"'));
    assert.deepEqual([isEnded(), messages], [true, []]);
  });
