import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../runtime/start.ts';
import { until } from '../cluster/until.ts';
import { errorOf, reasonOf, resultText } from '../fixtures/answers.ts';
import { type AskingBackend, type CallThere, elicit, startAskingBackend } from '../fixtures/asking-backend.ts';
import { frozenClock, type FrozenClock } from '../fixtures/frozen-clock.ts';
import { stopGateway } from '../fixtures/gateway.ts';
import { named, namedGate } from '../fixtures/gates.ts';
import { ACCEPTED, ASKABLE, askedIn, sendModern, type Sent } from '../fixtures/modern-caller.ts';
import type { RawAnswer } from '../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';

const ADA = named('ada');
const NOT_SUPPORTED = -32_601;

let clock: FrozenClock;
let there: AskingBackend;
let running: Running;
beforeEach(async () => {
  clock = frozenClock();
  there = await startAskingBackend();
  const features = () => ({ gate: namedGate });
  running = await startRuntime(configFile({ a: there.url }), {}, { clock, features });
});
afterEach(async () => {
  await stopGateway({ backend: there, running, clock });
});

const send = (sent: Sent = {}): Promise<RawAnswer> => sendModern(running.url, { headers: ADA, ...sent });

interface Begun {
  readonly call: CallThere;
  readonly answer: Promise<RawAnswer>;
}

const begin = async (sent: Sent = {}): Promise<Begun> => {
  const answer = send(sent);
  return { call: await there.next(), answer };
};

/** A call that is done at once, and the session that it came over. */
const visit = async (sent: Sent = {}): Promise<string> => {
  const { call, answer } = await begin(sent);
  call.finish('done');
  await answer;
  return call.session;
};

/** Asks on the stream of the session, and not on that of the call. */
const tell = async (call: CallThere, message: object): Promise<void> => {
  await there.listening(call);
  there.backend.tell(JSON.stringify({ jsonrpc: '2.0', ...message }), call.session);
};

const hold = async (sent: Sent = {}): Promise<{ readonly call: CallThere; readonly state: string }> => {
  const { call, answer } = await begin(sent);
  call.say(elicit('who'));
  return { call, state: askedIn(await answer).state };
};

describe('the sessions of a user of 2026-07-28', () => {
  const forms = { elicitation: { form: {} } };

  test('last from call to call, also while one is held', async () => {
    const first = await visit();
    const { call, state } = await hold();
    assert.equal(call.session, first);
    assert.equal(await visit(), first);
    const answer = send({ state, answers: { who: ACCEPTED } });
    await there.answerTo('who');
    call.finish('done');
    await answer;
    assert.equal(await visit(), first);
  });

  test('are one for each set of what the clients can be asked, and nobody else’s', async () => {
    const sets = [ASKABLE, forms, {}, { roots: {} }];
    const sessions: string[] = [];
    for (const capabilities of sets) sessions.push(await visit({ capabilities }));
    assert.equal(new Set(sessions).size, 4);
    assert.notEqual(await visit({ headers: named('bob') }), sessions[0]);
    for (const [n, capabilities] of sets.entries()) assert.equal(await visit({ capabilities }), sessions[n]);
    // What else a client has declared makes no difference.
    assert.equal(await visit({ capabilities: { ...forms, experimental: {} } }), sessions[1]);
    const opened = there.backend.requests.filter(({ method, params }) => method === 'initialize' && params);
    assert.deepEqual(opened[2]?.params['capabilities'], forms);
  });

  test('are four sets at most: any other client has one for each call', async () => {
    for (const mode of ['a', 'b', 'c', 'd']) await visit({ capabilities: { sampling: { [mode]: {} } } });
    const fifth = { capabilities: { sampling: { e: {} } } };
    const { call, answer } = await begin(fifth);
    call.say(elicit('who'));
    assert.equal(errorOf(await answer).code, -32_021);
    assert.notEqual(await visit(fifth), await visit(fifth));
  });

  test('that have been idle for long enough leave their places to others', async () => {
    for (const mode of ['a', 'b', 'c', 'd']) await visit({ capabilities: { sampling: { [mode]: {} } } });
    clock.advance(30 * 60_000);
    const fifth = { capabilities: { sampling: { e: {} } } };
    assert.equal(await visit(fifth), await visit(fifth));
  });
});

test('anonymous callers never share a session, and each has one as long as the call is held', async () => {
  const anonymous = { headers: {} };
  const { call, state } = await hold(anonymous);
  const second = await visit(anonymous);
  assert.notEqual(second, call.session);
  assert.notEqual(await visit(anonymous), second);
  const answer = send({ ...anonymous, state, answers: { who: ACCEPTED } });
  await there.answerTo('who');
  await tell(call, elicit('g'));
  assert.deepEqual(Object.keys(askedIn(await answer).requests), ['g']);
});

describe('what a backend asks on the stream of the session', () => {
  test('is asked of the client of the call that is under way', async () => {
    const { call, answer } = await begin();
    await tell(call, elicit('g'));
    const { state, requests } = askedIn(await answer);
    assert.deepEqual(Object.keys(requests), ['g']);
    const last = send({ state, answers: { g: ACCEPTED } });
    assert.deepEqual((await there.answerTo('g')).result, ACCEPTED);
    call.finish('done');
    assert.equal(resultText(await last), 'done');
  });

  test('ends a call whose client cannot be asked that, at once', async () => {
    for (const capabilities of [{}, { sampling: {} }]) {
      const { call, answer } = await begin({ capabilities });
      await tell(call, elicit(`no ${JSON.stringify(capabilities)}`));
      const { code, data } = errorOf(await answer);
      assert.equal(code, -32_021);
      assert.deepEqual(data['requiredCapabilities'], { elicitation: {} });
      await there.cancelled(call);
      assert.ok((await there.answerTo(`no ${JSON.stringify(capabilities)}`)).error);
    }
  });

  test('is refused at once while two calls of the user are under way, and again the one’s once the other is done', async () => {
    const one = await begin({ id: 1 });
    const two = await begin({ id: 2 });
    assert.equal(one.call.session, two.call.session);
    await tell(one.call, elicit('whose'));
    assert.equal((await there.answerTo('whose')).error?.code, NOT_SUPPORTED);
    two.call.finish('done');
    await two.answer;
    await tell(one.call, elicit('mine'));
    assert.deepEqual(Object.keys(askedIn(await one.answer).requests), ['mine']);
  });

  test('is refused at once between calls', async () => {
    const { call, answer } = await begin();
    call.finish('done');
    await answer;
    await tell(call, elicit('late'));
    assert.equal((await there.answerTo('late')).error?.code, NOT_SUPPORTED);
  });

  test('ends with the call: however many were left open, the next call can be asked', async () => {
    for (let n = 0; n < 34; n += 1) {
      const { call, answer } = await begin();
      await tell(call, elicit(`g${n}`));
      const { state } = askedIn(await answer);
      call.finish('without');
      assert.equal(resultText(await send({ state })), 'without');
      assert.ok((await there.answerTo(`g${n}`)).error);
    }
  });

  test('log messages there are the client’s that wants some', async () => {
    const { call, answer } = await begin({ logLevel: 'warning' });
    for (const level of ['info', 'error'])
      await tell(call, { method: 'notifications/message', params: { level, data: level } });
    await tell(call, { method: 'notifications/resources/updated', params: { uri: 'a://1' } });
    await tell(call, elicit('who'));
    assert.deepEqual(
      (await answer).messages.slice(0, -1).map((message) => (message as { params: object }).params),
      [{ level: 'error', data: 'error' }],
    );
  });
});

describe('time', () => {
  test('of the backend stands still also where it asks on the stream of the session', async () => {
    const { call, answer } = await begin();
    await tell(call, elicit('g'));
    const { state } = askedIn(await answer);
    clock.advance(4 * 60_000);
    const last = send({ state, answers: { g: ACCEPTED } });
    assert.deepEqual((await there.answerTo('g')).result, ACCEPTED);
    call.finish('done');
    assert.equal(resultText(await last), 'done');
  });

  test('of the backend stands still while its client is asked, and goes on with the answer', async () => {
    const { call, state } = await hold();
    clock.advance(4 * 60_000);
    const answer = send({ state, answers: { who: ACCEPTED } });
    await there.answerTo('who');
    assert.equal(there.isCancelled(call), false);
    await until('the end of patience', async () => {
      clock.advance(30_000);
      return (await Promise.race([answer, Promise.resolve(undefined)])) && true;
    });
    assert.equal(reasonOf(await answer), 'backend_timeout');
    await there.cancelled(call);
  });

  test('of a client that does not come back ends: the call is cancelled at the backend', async () => {
    const { call, state } = await hold();
    clock.advance(5 * 60_000 - 1);
    assert.equal(there.isCancelled(call), false);
    clock.advance(1);
    await there.cancelled(call);
    assert.equal(errorOf(await send({ state, answers: { who: ACCEPTED } })).code, -32_602);
    assert.equal(await visit(), call.session);
  });

  test('begins anew in each round', async () => {
    const { call, state } = await hold();
    clock.advance(4 * 60_000);
    const again = askedIn(await send({ state }));
    clock.advance(4 * 60_000);
    const answer = send({ state: again.state, answers: { who: ACCEPTED } });
    await there.answerTo('who');
    clock.advance(29_000);
    call.finish('done');
    assert.equal(resultText(await answer), 'done');
  });

  test('of a result that is kept for its client ends, too', async () => {
    const { call, state } = await hold();
    call.finish('done');
    clock.advance(5 * 60_000);
    assert.equal(errorOf(await send({ state })).code, -32_602);
  });
});

describe('of the methods', () => {
  const prompt = { messages: [] };
  const resource = { contents: [{ uri: 'a://1', text: 'x' }] };
  for (const [method, name, result] of [
    ['prompts/get', 'a_p', prompt],
    ['resources/read', 'a://1', resource],
  ] as const)
    test(`${method} can be held`, async () => {
      const { call, state } = await hold({ method, name });
      const answer = send({ method, name, state, answers: { who: ACCEPTED } });
      await there.answerTo('who');
      call.finish(result);
      assert.match((await answer).text, /"resultType":"complete"/);
    });

  test('completion/complete cannot, and ends', async () => {
    const { call, answer } = await begin({ method: 'completion/complete', name: 'a_p' });
    call.say(elicit('who'));
    assert.equal(errorOf(await answer).data.reason, 'client_cannot_answer');
    await there.cancelled(call);
  });
});
