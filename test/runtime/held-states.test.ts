import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../runtime/start.ts';
import { errorOf, resultText } from '../fixtures/answers.ts';
import { answerJson } from '../fixtures/backend.ts';
import { type AskingBackend, type CallThere, elicit, startAskingBackend } from '../fixtures/asking-backend.ts';
import { named, namedGate } from '../fixtures/gates.ts';
import { ACCEPTED, askedIn, sendModern, type Sent } from '../fixtures/modern-caller.ts';
import type { RawAnswer } from '../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';

const ADA = named('ada', 'phone');
const ARGS = { x: 1 };
const ANSWERS = { who: ACCEPTED };

let there: AskingBackend;
let running: Running;
beforeEach(async () => {
  there = await startAskingBackend('streamable-http', {
    tools: ['echo', 'other'],
    lists: { prompts: ['{"name":"echo"}'] },
  });
  running = await startRuntime(configFile({ a: there.url }), {}, { features: () => ({ gate: namedGate }) });
});
afterEach(async () => {
  await running.stop();
  await there.close();
});

const send = (sent: Sent): Promise<RawAnswer> =>
  sendModern(running.url, { args: ARGS, answers: ANSWERS, headers: ADA, ...sent });

/** A call of Ada's whose client has been asked. */
const hold = async (sent: Sent = {}): Promise<{ readonly call: CallThere; readonly state: string }> => {
  const answer = send({ ...sent, answers: undefined });
  const call = await there.next();
  call.say(elicit('who'));
  return { call, state: askedIn(await answer).state };
};

const refuses = async (sent: Sent): Promise<void> => {
  const { code, message } = errorOf(await send(sent));
  assert.equal(code, -32_602);
  assert.match(message, /requestState is of no call that waits for this request/);
};

const callsThere = (): number => there.backend.requests.filter(({ method }) => method === 'tools/call').length;

/** The call is as it was: nothing has reached the backend, and whoever owns it goes on with it. */
const isUnharmed = async ({ call, state }: Awaited<ReturnType<typeof hold>>, calls = 1): Promise<void> => {
  assert.equal(callsThere(), calls);
  assert.equal(there.isCancelled(call), false);
  const answer = send({ state });
  assert.deepEqual((await there.answerTo('who')).result, ACCEPTED);
  call.finish('done');
  assert.equal(resultText(await answer), 'done');
};

describe('the state of a held call, presented', () => {
  const others: Readonly<Record<string, Sent>> = {
    'with other arguments': { args: { x: 2 } },
    'without arguments': { args: undefined as unknown as object },
    'for another tool': { name: 'a_other' },
    'with another method': { method: 'prompts/get' },
    'by another user': { headers: named('bob', 'phone') },
    'by another client of the same user': { headers: named('ada', 'laptop') },
    'by a client of the same user that does not say which it is': { headers: named('ada') },
    'by nobody in particular': { headers: {} },
  };
  for (const [how, sent] of Object.entries(others))
    test(`${how} is refused, and the call goes on`, async () => {
      const held = await hold();
      await refuses({ ...sent, state: held.state });
      await isUnharmed(held);
    });

  test('for an anonymous call is the caller’s, and no user’s', async () => {
    const { call, state } = await hold({ headers: {} });
    await refuses({ state });
    const answer = send({ state, headers: {} });
    await there.answerTo('who');
    call.finish('done');
    assert.equal(resultText(await answer), 'done');
  });

  test('in another round than its own is refused', async () => {
    const { call, state } = await hold();
    const answer = send({ state });
    await there.answerTo('who');
    call.say(elicit('why'));
    const next = askedIn(await answer);
    await refuses({ state, answers: { why: ACCEPTED } });
    const last = send({ state: next.state, answers: { why: ACCEPTED } });
    await there.answerTo('why');
    call.finish('done');
    assert.equal(resultText(await last), 'done');
    await refuses({ state: next.state });
  });

  test('by a second request while the first one goes on is refused as busy, and disturbs nothing', async () => {
    const { call, state } = await hold();
    const answer = send({ state });
    await there.answerTo('who');
    const { code, data } = errorOf(await send({ state, answers: { who: { action: 'decline' } } }));
    assert.deepEqual([code, data.reason], [429, 'busy']);
    call.finish('done');
    assert.equal(resultText(await answer), 'done');
    assert.equal(there.backend.requests.filter(({ body }) => body.includes('decline')).length, 0);
  });

  test('at twice by two requests is good for one of them', async () => {
    const { call, state } = await hold();
    const answers = Promise.all([send({ id: 1, state }), send({ id: 2, state })]);
    await there.answerTo('who');
    call.finish('done');
    const busy = (await answers).filter(({ text }) => text.includes('"busy"'));
    const done = (await answers).filter(({ text }) => text.includes('done'));
    assert.deepEqual([busy.length, done.length], [1, 1]);
  });

  const inventions: Readonly<Record<string, (state: string) => string>> = {
    'of no call': () => `${'A'.repeat(43)}.1`,
    'of another form': () => 'anything',
    'that is empty': () => '',
    'of a round to come': (state) => state.replace(/\d+$/, '2'),
    'of a round before the first': (state) => state.replace(/\d+$/, '0'),
    'spelt in another way': (state) => state.replace(/(\d+)$/, '0$1'),
    'with more behind it': (state) => `${state}.1`,
  };
  for (const [what, invent] of Object.entries(inventions))
    test(`${what} is refused, and reaches no server of an earlier revision`, async () => {
      const held = await hold();
      await refuses({ state: invent(held.state) });
      await isUnharmed(held);
    });
});

test('the state of a server of 2026-07-28 is its own, whatever it looks like', async () => {
  const result = '{"resultType":"complete","content":[{"type":"text","text":"its own"}]}';
  there.backend.set({
    on: ({ recorded: { method, headers } }) => {
      if (headers['mcp-protocol-version'] !== '2026-07-28') return undefined;
      if (method === 'server/discover')
        return answerJson('{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}');
      if (method === 'tools/list')
        return answerJson('{"resultType":"complete","tools":[{"name":"echo","inputSchema":{"type":"object"}}]}');
      return answerJson(result);
    },
  });
  await running.stop();
  running = await startRuntime(configFile({ a: there.url }), {}, { features: () => ({ gate: namedGate }) });
  const state = `${'A'.repeat(43)}.1`;
  assert.equal(resultText(await send({ state })), 'its own');
  const { params } = await there.backend.received(({ method }) => method === 'tools/call');
  assert.equal(params['requestState'], state);
  assert.deepEqual(params['inputResponses'], ANSWERS);
});
