import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Caller } from '../../../../runtime/call/caller.ts';
import { ClientBackendSessions } from '../../../../runtime/backends/index.ts';
import type { SessionBackend } from '../../../../runtime/backends/session/client-sessions.ts';
import { VmcpError } from '../../../../runtime/errors.ts';
import { userOf } from '../../../fixtures/callers.ts';

const URI = 'a://1';

/** A client that has subscribed to a resource, which it may not keep once `refuse` was called. */
const subscribed = async () => {
  let caller: Caller = userOf('alice');
  let isAllowed = true;
  const decided: Caller[] = [];
  const told: string[] = [];
  const watching = new Set<string>();
  const backend: SessionBackend = {
    name: 'a',
    shared: undefined,
    openSession: () => assert.fail('a session is opened'),
    share: () => false,
    watch: (uri) => {
      watching.add(uri);
      return { confirmed: Promise.resolve(), stop: () => void watching.delete(uri) };
    },
  };
  const sessions = new ClientBackendSessions({
    owner: () => caller,
    client: {
      caller,
      capabilities: Buffer.from('{}'),
      logLevel: undefined,
      isListening: true,
      notify: (message) => void told.push(message.toString()),
      ask: () => Promise.reject(new VmcpError('client_cannot_answer', 'no')),
    },
    rights: {
      mayKeep: async (_uri, of) => {
        decided.push(of);
        await Promise.resolve();
        return isAllowed;
      },
      mayHear: () => true,
    },
  });
  await sessions.watch(backend, { method: 'resources/subscribe', name: URI, caller });
  decided.splice(0);
  return {
    sessions,
    decided,
    told,
    watching,
    present: (newer: Caller) => void (caller = newer),
    refuse: () => void (isAllowed = false),
  };
};

test('a subscription about which two decisions are asked for at a time ends once', async () => {
  const { sessions, decided, told, watching, refuse } = await subscribed();
  refuse();
  assert.deepEqual(await Promise.all([sessions.readmit(), sessions.readmit()]), [1, 0]);
  assert.deepEqual([watching.size, decided.length, told.length], [0, 1, 1]);
  await sessions.close();
});

test('a decision is made for the token that was presented last, also while another one is made', async () => {
  const { sessions, decided, present } = await subscribed();
  const newer = userOf('alice', { token: 'newer' });
  const first = sessions.readmit();
  present(newer);
  const second = sessions.readmit();
  await Promise.all([first, second]);
  assert.deepEqual([decided.length, decided.at(-1)], [2, newer]);
  await sessions.close();
});
