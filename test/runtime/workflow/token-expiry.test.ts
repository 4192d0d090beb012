import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { resultOf, resultText } from '../../fixtures/answers.ts';
import { type AskingBackend, startAskingBackend } from '../../fixtures/asking-backend.ts';
import { count } from '../../fixtures/backend.ts';
import { askedIn, sendModern } from '../../fixtures/modern-caller.ts';
import { type ProtectedGateway, startProtected } from '../../fixtures/protected-gateway.ts';
import { openSession, type RawAnswer } from '../../fixtures/raw-client.ts';
import { legacyCaller } from '../../fixtures/workflow-callers.ts';
import { sendTask } from '../../fixtures/task-caller.ts';

const LIFE_S = 10;
/** `CLOCK_TOLERANCE_SECONDS` */
const TOLERANCE_S = 30;

const step = (id: string, more: object = {}): object => ({ id, tool: 'b.echo', arguments: { of: id }, ...more });

const WORKFLOWS = [
  { name: 'tool', steps: [step('first'), step('last', { dependsOn: ['first'] })] },
  {
    name: 'forEach',
    steps: [
      {
        id: 'each',
        type: 'forEach',
        collection: '["first","last"]',
        maxParallel: 1,
        step: { tool: 'b.echo', arguments: { of: '{{.item}}' } },
      },
    ],
  },
  {
    name: 'elicitation',
    steps: [
      step('first'),
      { id: 'ask', type: 'elicitation', message: 'Go on?', dependsOn: ['first'] },
      step('last', { dependsOn: ['ask'] }),
    ],
  },
];

const ENDED = /failed: the token of the user has ended/;
const YES = { action: 'accept', content: {} };

describe('a workflow whose token ends in the middle', () => {
  let b: AskingBackend;
  let gateway: ProtectedGateway;
  let headers: Readonly<Record<string, string>>;

  const bearer = async (lifeSeconds = LIFE_S): Promise<Readonly<Record<string, string>>> => ({
    authorization: `Bearer ${await gateway.provider.token({}, { lifeSeconds })}`,
  });
  const end = (): void => gateway.clock.advance((LIFE_S + TOLERANCE_S + 1) * 1_000);
  const called = (): readonly unknown[] =>
    b.backend.requests
      .filter(({ method }) => method === 'tools/call')
      .map(({ params }) => (params['arguments'] as { of?: unknown }).of);
  const url = (): string => gateway.running.url;
  /** A call as a client of each era makes it. */
  const CALLS = {
    legacy: async (name: string): Promise<() => Promise<RawAnswer>> => {
      const session = await openSession(url(), {}, headers);
      return () => session.call(name);
    },
    modern: async (name: string) => () => sendModern(url(), { name, headers }),
  };

  beforeEach(async () => {
    b = await startAskingBackend();
    gateway = await startProtected({
      more: {
        backends: [{ name: 'b', url: b.url, transport: 'streamable-http' }],
        operational: { timeouts: { default: '10m' } },
        compositeTools: structuredClone(WORKFLOWS),
      },
    });
    headers = await bearer();
  });
  afterEach(async () => {
    b.drop();
    await gateway.stop();
    await b.close();
  });

  for (const [era, begin] of Object.entries(CALLS))
    for (const name of ['tool', 'forEach']) {
      test(`fails at the next call of a ${name} step, which is not made (${era})`, async () => {
        const answer = (await begin(name))();
        const there = await b.next();
        end();
        there.finish('done');
        assert.match(resultText(await answer), ENDED);
        assert.deepEqual(called(), ['first']);
      });

      test(`goes on in a ${name} step where the client has presented a newer token meanwhile (${era})`, async () => {
        const answer = (await begin(name))();
        const there = await b.next();
        end();
        headers = await bearer();
        assert.equal((await sendModern(url(), { method: 'tools/list', name: '', headers })).status, 200);
        there.finish('done');
        (await b.next()).finish('done too');
        await answer;
        assert.deepEqual(called(), ['first', 'last']);
      });
    }

  test('that waits for its user takes an answer with a valid token alone, and runs nothing twice (2026-07-28)', async () => {
    const answer = sendModern(url(), { name: 'elicitation', headers });
    (await b.next()).finish('done');
    const { state } = askedIn(await answer);
    end();
    const late = await sendModern(url(), { name: 'elicitation', headers, state, answers: { ask: YES } });
    assert.equal(late.status, 401);
    assert.deepEqual(called(), ['first']);
    headers = await bearer();
    const rest = sendModern(url(), { name: 'elicitation', headers, state, answers: { ask: YES } });
    (await b.next()).finish('done too');
    assert.equal(resultText(await rest), 'done too');
    assert.deepEqual(called(), ['first', 'last']);
  });

  test('that asks on the stream of its call goes on with the token that the answer comes with (legacy)', async () => {
    const call = await legacyCaller(url(), () => headers);
    const lasting = await bearer(3_600);
    const answer = call('elicitation', {}, () => {
      end();
      headers = lasting;
      return YES;
    });
    (await b.next()).finish('done');
    (await b.next()).finish('done too');
    assert.equal(resultText(await answer), 'done too');
    assert.deepEqual(called(), ['first', 'last']);
  });

  test('that is a task takes an answer with a valid token alone, and goes on with that one', async () => {
    const answer = sendTask(url(), { tool: 'elicitation', headers });
    (await b.next()).finish('done');
    const task = String(resultOf(await answer)['taskId']);
    end();
    const update = { method: 'tasks/update', task, answers: { 'ask.1': YES } };
    assert.equal((await sendTask(url(), { ...update, headers })).status, 401);
    assert.equal((await sendTask(url(), { method: 'tasks/get', task, headers })).status, 401);
    assert.deepEqual(called(), ['first']);
    headers = await bearer();
    assert.equal((await sendTask(url(), { ...update, headers })).status, 200);
    (await b.next()).finish('done too');
    assert.deepEqual(called(), ['first', 'last']);
    assert.equal(count(b.backend, 'tools/call'), 2);
  });
});
