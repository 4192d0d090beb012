import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { WatchSessions } from '../../../../runtime/backends/watches/watch-sessions.ts';
import type { Caller } from '../../../../runtime/call/caller.ts';
import type { SessionClient } from '../../../../runtime/call/call.ts';
import { wholeOf } from '../../../../runtime/json/text-pieces.ts';
import { userOf } from '../../../fixtures/callers.ts';

const URI = 'mem://a';
const UPDATED = Buffer.from(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"${URI}"}}`);

/** Sessions at a backend that the test speaks for: what they sent and for whom, and how each request is answered. */
const watchSessions = () => {
  const clients: SessionClient[] = [];
  const callers: Caller[] = [];
  const sent: { readonly method: string; readonly answer: (rest: string) => void }[] = [];
  const sessions = new WatchSessions({
    backend: 'a',
    openSession: (client) => {
      clients.push(client);
      return {
        request: async ({ bytes, id }) => {
          const answered = Promise.withResolvers<Buffer>();
          const { method } = JSON.parse(wholeOf(bytes).toString()) as { readonly method: string };
          const answer = (rest: string): void =>
            answered.resolve(Buffer.from(`{"jsonrpc":"2.0","id":${id.toString()},${rest}}`));
          sent.push({ method, answer });
          return answered.promise;
        },
        close: async () => {},
      };
    },
    fetchFor: (caller) => {
      callers.push(caller);
      return () => Promise.reject(new Error('the session answers'));
    },
    timeoutMs: () => 1000,
  });
  return { sessions, clients, callers, sent };
};

describe('a resource that one stops listening to while the backend still thinks about it', () => {
  test('is watched on for who began meanwhile', async () => {
    const { sessions, clients, sent } = watchSessions();
    const first = sessions.subscribe(URI, { kind: 'anonymous' }, () => {});
    let updates = 0;
    const second = sessions.subscribe(URI, { kind: 'anonymous' }, () => {
      updates += 1;
    });
    sent[0]?.answer('"error":{"code":-32603,"message":"no"}');
    await assert.rejects(first);
    sent[1]?.answer('"result":{}');
    await second;
    clients[0]?.notify(UPDATED);
    assert.equal(updates, 1);
    assert.deepEqual(
      sent.map(({ method }) => method),
      ['resources/subscribe', 'resources/subscribe'],
    );
  });
});

test('a session that watches resources speaks by the token that was presented last', async () => {
  const { sessions, clients, callers, sent } = watchSessions();
  const [older, newer] = [userOf('x', { token: 'older' }), userOf('x', { token: 'newer' })];
  const first = sessions.subscribe(URI, older, () => {});
  sent[0]?.answer('"result":{}');
  const end = await first;
  const second = sessions.subscribe('mem://b', newer, () => {});
  sent[1]?.answer('"result":{}');
  await second;
  end();
  assert.deepEqual(callers, [older, newer, newer]);
  assert.deepEqual(
    clients.map(({ caller }) => caller),
    [newer],
  );
});
