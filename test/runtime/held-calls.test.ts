import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../runtime/start.ts';
import { errorOf, reasonOf, resultText } from '../fixtures/answers.ts';
import { type AskingBackend, type CallThere, elicit, startAskingBackend } from '../fixtures/asking-backend.ts';
import { ACCEPTED, askedIn, type AskedFor, before, sendModern, type Sent } from '../fixtures/modern-caller.ts';
import type { RawAnswer } from '../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';

for (const transport of ['streamable-http', 'sse'] as const)
  describe(`a client of 2026-07-28 in front of a server of 2025-11-25 over ${transport}`, () => {
    let there: AskingBackend;
    let running: Running;

    beforeEach(async () => {
      there = await startAskingBackend(transport);
      running = await startRuntime(configFile({ a: there.url }, {}, transport));
    });
    afterEach(async () => {
      await running.stop();
      await there.close();
    });

    const send = (sent: Sent = {}): Promise<RawAnswer> => sendModern(running.url, sent);

    /** A call that the backend has, and its answer here. */
    const begin = async (sent: Sent = {}): Promise<{ call: CallThere; answer: Promise<RawAnswer> }> => {
      const answer = send(sent);
      return { call: await there.next(), answer };
    };

    /** One whose client has been asked. */
    const ask = async (
      questions: readonly object[],
      sent: Sent = {},
    ): Promise<{ call: CallThere; asked: AskedFor; answer: RawAnswer }> => {
      const { call, answer } = await begin(sent);
      for (const question of questions) call.say(question);
      return { call, asked: askedIn(await answer), answer: await answer };
    };

    test('is asked under the name that the server gave, and goes on with what it answers', async () => {
      const { call, asked } = await ask([elicit('who')]);
      const { method, params } = elicit('who');
      assert.deepEqual(asked.requests, { who: { method, params } });
      const answer = send({ id: 2, state: asked.state, answers: { who: ACCEPTED } });
      assert.deepEqual((await there.answerTo('who')).result, ACCEPTED);
      call.finish('hello');
      const { json } = await answer;
      assert.equal((json as { id: unknown }).id, 2);
      assert.equal(resultText(await answer), 'hello');
    });

    test('is not shown what only earlier revisions know of a question', async () => {
      const { id, method, params } = elicit('who');
      const older = { _meta: { progressToken: 1 }, task: { ttl: 1 }, elicitationId: 'e' };
      const { asked } = await ask([{ id, method, params: { ...older, ...params } }]);
      assert.deepEqual(asked.requests, { who: { method, params } });
    });

    test('is asked several questions at once, whatever they are named', async () => {
      const sampling = { id: 7, method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } };
      const { call, asked } = await ask([elicit('q1'), sampling, { id: 'r', method: 'roots/list' }]);
      assert.deepEqual(
        Object.entries(asked.requests).map(([key, { method }]) => [key, method]),
        [
          ['q1', 'elicitation/create'],
          ['q2', 'sampling/createMessage'],
          ['r', 'roots/list'],
        ],
      );
      const sampled = { model: 'm', role: 'assistant', content: { type: 'text', text: 'hi' } };
      const answer = send({ state: asked.state, answers: { q1: ACCEPTED, q2: sampled, r: { roots: [] } } });
      assert.deepEqual((await there.answerTo('q1')).result, ACCEPTED);
      assert.deepEqual((await there.answerTo(7)).result, sampled);
      assert.deepEqual((await there.answerTo('r')).result, { roots: [] });
      call.finish('done');
      assert.equal(resultText(await answer), 'done');
    });

    test('is asked in one round after the other, each under a state of its own', async () => {
      const first = await ask([elicit('s0')]);
      const { call } = first;
      let { asked } = first;
      const states = [asked.state];
      for (let round = 1; round < 4; round += 1) {
        const answer = send({ id: round, state: asked.state, answers: { [`s${round - 1}`]: ACCEPTED } });
        await there.answerTo(`s${round - 1}`);
        call.say(elicit(`s${round}`));
        asked = askedIn(await answer);
        assert.deepEqual(Object.keys(asked.requests), [`s${round}`]);
        states.push(asked.state);
      }
      assert.equal(new Set(states).size, 4);
      const last = send({ state: asked.state, answers: { s3: ACCEPTED } });
      await there.answerTo('s3');
      call.fail(-32_000, 'no luck');
      assert.equal(errorOf(await last).message, 'no luck');
    });

    test('is asked again for what it has not answered', async () => {
      const { call, asked } = await ask([elicit('one'), elicit('two')]);
      const again = askedIn(await send({ state: asked.state, answers: { one: ACCEPTED, three: ACCEPTED } }));
      assert.deepEqual((await there.answerTo('one')).result, ACCEPTED);
      assert.deepEqual(Object.keys(again.requests), ['two']);
      assert.notEqual(again.state, asked.state);
      const same = askedIn(await send({ state: again.state }));
      assert.deepEqual(Object.keys(same.requests), ['two']);
      const last = send({ state: same.state, answers: { two: ACCEPTED } });
      await there.answerTo('two');
      call.finish('done');
      assert.equal(resultText(await last), 'done');
    });

    test('answers ahead, by name and once; the server is asked nothing else by it', async () => {
      const { call, answer } = await begin({ answers: { who: ACCEPTED, other: ACCEPTED } });
      assert.equal('inputResponses' in call.params, false);
      call.say(elicit('who'));
      assert.deepEqual((await there.answerTo('who')).result, ACCEPTED);
      call.say(elicit('who', 'Who, really?'));
      const { requests, state } = askedIn(await answer);
      assert.deepEqual(Object.keys(requests), ['who']);
      assert.equal(requests['who']?.params?.['message'], 'Who, really?');
      // What was given ahead is good until the client is asked for the first time.
      const next = send({ state, answers: { who: ACCEPTED } });
      call.say(elicit('other'));
      assert.deepEqual(Object.keys(askedIn(await next).requests), ['other']);
    });

    test('is answered which of its answers is none', async () => {
      const { asked } = await ask([elicit('who')]);
      for (const [answers, where] of [
        [[], 'params.inputResponses'],
        [{ who: ACCEPTED, why: 'yes' }, 'params.inputResponses.why'],
        [{ who: null }, 'params.inputResponses.who'],
      ] as const) {
        const refused = errorOf(await send({ state: asked.state, answers }));
        assert.equal(refused.code, -32_602);
        assert.match(refused.message, new RegExp(`${where} is not an object`));
      }
      assert.equal(errorOf(await send({ answers: 5 })).code, -32_602);
      assert.equal(errorOf(await send({ state: 5 })).code, -32_602);
    });

    test('gets progress under the token of the request that it waits with, and of none without', async () => {
      const { call, answer } = await begin({ token: 'first' });
      const { progressToken } = call.params['_meta'] as { progressToken: string };
      const progress = (n: number): void =>
        call.say({ method: 'notifications/progress', params: { progressToken, progress: n } });
      progress(1);
      call.say(elicit('x'));
      const first = askedIn(await answer);
      const heard = before(await answer).map(({ params }) => params);
      assert.deepEqual(heard, [{ progressToken: 'first', progress: 1 }]);
      progress(2);
      const second = send({ token: 2, state: first.state, answers: { x: ACCEPTED } });
      await there.answerTo('x');
      progress(3);
      call.say(elicit('y'));
      assert.deepEqual(
        before(await second).map(({ params }) => params),
        [{ progressToken: 2, progress: 3 }],
      );
      const third = send({ state: askedIn(await second).state, answers: { y: ACCEPTED } });
      await there.answerTo('y');
      progress(4);
      call.finish('done');
      assert.deepEqual(before(await third), []);
      assert.equal(resultText(await third), 'done');
    });

    test('gets log messages while it waits, and as each of its requests wants them', async () => {
      const { call, answer } = await begin({ logLevel: 'info' });
      const log = (level: string, data: string): void =>
        call.say({ method: 'notifications/message', params: { level, data } });
      log('debug', 'too little');
      log('info', 'first');
      call.say(elicit('x'));
      const { state } = askedIn(await answer);
      const dataOf = (heard: RawAnswer) => before(heard).map(({ params }) => params['data']);
      assert.deepEqual(dataOf(await answer), ['first']);
      log('error', 'to nobody');
      const second = send({ state, logLevel: 'error', answers: { x: ACCEPTED } });
      await there.answerTo('x');
      log('info', 'too little');
      log('error', 'second');
      call.say(elicit('y'));
      assert.deepEqual(dataOf(await second), ['second']);
      const third = send({ state: askedIn(await second).state, answers: { y: ACCEPTED } });
      await there.answerTo('y');
      log('error', 'not asked for');
      call.finish('done');
      assert.deepEqual(dataOf(await third), []);
    });

    test('is given a result that came while it was away', async () => {
      const { call, asked } = await ask([elicit('who')]);
      call.finish('it works without');
      await there.backend.received(({ method }) => method === 'tools/call');
      const answer = await send({ id: 'late', state: asked.state, answers: { who: ACCEPTED } });
      assert.equal((answer.json as { id: unknown }).id, 'late');
      assert.equal(resultText(answer), 'it works without');
      assert.equal(errorOf(await send({ state: asked.state, answers: { who: ACCEPTED } })).code, -32_602);
    });

    test('is given an error that came while it was away', async () => {
      const { asked } = await ask([elicit('who')]);
      there.drop();
      assert.equal(reasonOf(await send({ state: asked.state, answers: { who: ACCEPTED } })), 'backend_unavailable');
      assert.equal(errorOf(await send({ state: asked.state })).code, -32_602);
    });

    test('answers in vain what the server has taken back, and waits for the result', async () => {
      const { call, asked } = await ask([elicit('who')]);
      call.say({ method: 'notifications/cancelled', params: { requestId: 'who' } });
      call.say(elicit('now'));
      // Asked while the client is away, so in the next round.
      const again = await send({ state: asked.state, answers: { who: ACCEPTED } });
      assert.deepEqual(Object.keys(askedIn(again).requests), ['now']);
      call.say({ method: 'notifications/cancelled', params: { requestId: 'now' } });
      const answer = send({ state: askedIn(again).state, answers: { now: ACCEPTED } });
      call.finish('never mind');
      assert.equal(resultText(await answer), 'never mind');
      assert.equal(
        there.backend.requests.some(({ body }) => body.includes('"result":{"action"')),
        false,
      );
    });

    test('closes the request that it goes on with: the call is cancelled at the server', async () => {
      const { call, asked } = await ask([elicit('who')]);
      const leaving = new AbortController();
      const answer = send({ state: asked.state, answers: { who: ACCEPTED }, signal: leaving.signal });
      await there.answerTo('who');
      assert.equal(there.isCancelled(call), false);
      leaving.abort();

      await assert.rejects(answer);
      await new Promise((r) => setTimeout(r, 1500));
      console.error(
        there.backend.requests.slice(-5).map((r) => [r.http, r.headers['mcp-session-id'], r.body]),
        call.exchange.id,
        call.session,
      );

      await there.cancelled(call);

      assert.equal(errorOf(await send({ state: asked.state, answers: { who: ACCEPTED } })).code, -32_602);
    });

    test('is away when the runtime stops: the call is cancelled at the server', async () => {
      const { call } = await ask([elicit('who')]);
      await running.stop();
      assert.ok(there.isCancelled(call));
    });

    test('is no worse off than others where the server asks 33 questions at once', async () => {
      const { call, answer } = await begin();
      const questions = Array.from({ length: 33 }, (_, n) => `data: ${JSON.stringify(rpc(elicit(`n${n}`)))}\n\n`);
      call.exchange.response.write(questions.join(''));
      if (transport === 'streamable-http') assert.equal(reasonOf(await answer), 'backend_unavailable');
      else assert.ok(await answer);
      const other = await begin();
      other.call.finish('as before');
      assert.equal(resultText(await other.answer), 'as before');
    });
  });

const rpc = (message: object): object => ({ jsonrpc: '2.0', ...message });
