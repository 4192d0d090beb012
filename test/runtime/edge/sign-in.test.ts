import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Call, CallRecord, Reply } from '../../../runtime/call/index.ts';
import { signInLadder, type SignIns } from '../../../runtime/edge/sign-in.ts';
import { VmcpError } from '../../../runtime/errors.ts';
import { Cancellation } from '../../../runtime/process/index.ts';
import { userOf } from '../../fixtures/callers.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';

const REPLY: Reply = { kind: 'whole', status: 200, body: Buffer.from('{}') };

/** A step whose client is asked, and agrees; time stands still, so that what waits for it never ends. */
const stepOf = (signIns: Pick<SignIns, 'isMissing' | 'onSignedIn'>) => {
  const ladder = signInLadder({
    clock: frozenClock(),
    signIns: {
      ...signIns,
      offer: async () => ({ url: 'https://vmcp.example/link', accountsUrl: 'https://vmcp.example/', lifeMs: 1 }),
      newId: () => 'id',
    },
  });
  const call = {
    depth: 1,
    caller: userOf('alice'),
    signal: new Cancellation(),
    client: {
      era: 'modern',
      capabilities: Buffer.from('{"elicitation":{"url":{}}}'),
      ask: async () => ({ kind: 'result', result: Buffer.from('{"action":"accept"}') }),
    },
  } as unknown as Call;
  return (next: () => Promise<Reply>) => ladder.aroundCall(call, {} as CallRecord, next);
};

/** Needs a sign-in for so many times. */
const needing = (times: number) => {
  const tried = { times: 0 };
  const next = async (): Promise<Reply> => {
    tried.times += 1;
    if (tried.times > times) return REPLY;
    throw new VmcpError('login_required', 'sign in', { challenge: { scope: 'upstream:github' } });
  };
  return { tried, next };
};

test('a sign-in that was done before anybody waited for it is not waited for', async () => {
  let waiting = 0;
  const onSignedIn = (): (() => void) => {
    waiting += 1;
    return () => void (waiting -= 1);
  };
  const { tried, next } = needing(1);
  assert.equal(await stepOf({ isMissing: async () => false, onSignedIn })(next), REPLY);
  assert.deepEqual([tried.times, waiting], [2, 0]);
});

test('an account that is there, and is not what the call needs, does not end the wait', async () => {
  const { promise: isWaiting, resolve } = Promise.withResolvers<() => void>();
  const { tried, next } = needing(2);
  const onSignedIn: SignIns['onSignedIn'] = (_user, _provider, run) => {
    resolve(run);
    return () => undefined;
  };
  const answered = stepOf({ isMissing: async () => false, onSignedIn })(next);
  const tell = await isWaiting;
  tell();
  assert.equal(await answered, REPLY);
  assert.equal(tried.times, 3);
});
