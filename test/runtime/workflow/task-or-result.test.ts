import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../../runtime/start.ts';
import { errorOf, resultOf, resultText } from '../../fixtures/answers.ts';
import { type AskingBackend, startAskingBackend } from '../../fixtures/asking-backend.ts';
import { count } from '../../fixtures/backend.ts';
import { frozenClock, type FrozenClock } from '../../fixtures/frozen-clock.ts';
import { askedIn, sendModern } from '../../fixtures/modern-caller.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';
import { sendTask, TAKES_TASKS } from '../../fixtures/task-caller.ts';

const QUESTION = {
  jsonrpc: '2.0',
  id: 7,
  method: 'elicitation/create',
  params: { message: 'who?', requestedSchema: {} },
};
const NO_TASKS = { elicitation: {} };
const YES = { action: 'accept', content: {} };

describe('a workflow that may be a task', () => {
  let b: AskingBackend;
  let clock: FrozenClock;
  let running: Running;

  beforeEach(async () => {
    clock = frozenClock();
    b = await startAskingBackend();
    const compositeTools = [{ name: 'slow', steps: [{ id: 'one', tool: 'b.echo' }] }];
    running = await startRuntime(configFile({ b: b.url }, { compositeTools }), {}, { clock });
  });
  afterEach(async () => {
    b.drop();
    await Promise.all([running.stop(), b.close()]);
  });

  test('is none where a tool of it asks before, which is answered with the next request, however late', async () => {
    const call = { name: 'slow', args: {}, capabilities: TAKES_TASKS };
    const held = sendModern(running.url, call);
    const there = await b.next();
    there.say(QUESTION);
    const { state, requests } = askedIn(await held);
    clock.advance(10_000);
    const [key = ''] = Object.keys(requests);
    const rest = sendModern(running.url, { ...call, state, answers: { [key]: YES } });
    assert.deepEqual((await b.answerTo(7)).result, YES);
    there.finish('done');
    assert.equal(resultText(await rest), 'done');
    assert.equal(count(b.backend, 'tools/call'), 1);
  });

  test('refuses what a tool asks once it is one, as no request of its client waits', async () => {
    const answer = sendTask(running.url, { tool: 'slow' });
    const there = await b.next();
    clock.advance(10_000);
    const task = String(resultOf(await answer)['taskId']);
    there.say(QUESTION);
    assert.ok((await b.answerTo(7)).error);
    there.finish('done all the same');
    for (let got = {}; !('result' in got);) got = resultOf(await sendTask(running.url, { method: 'tasks/get', task }));
    assert.equal(count(b.backend, 'tools/call'), 1);
  });

  test('says so where a tool has failed because its question was refused', async () => {
    const answer = sendTask(running.url, { tool: 'slow' });
    const there = await b.next();
    clock.advance(10_000);
    const task = String(resultOf(await answer)['taskId']);
    there.say(QUESTION);
    await b.answerTo(7);
    there.finish({ isError: true, content: [{ type: 'text', text: 'no answer' }] });
    let got: Readonly<Record<string, unknown>> = {};
    while (!('result' in got)) got = resultOf(await sendTask(running.url, { method: 'tasks/get', task }));
    const text = JSON.stringify(got['result']);
    assert.match(text, /step \\"one\\" failed: no answer \(the tool asked the user while its workflow was a task/);
    assert.match(text, /have such a step ask before, or call without the extension for tasks/);
  });

  test('is none where the workflow is over before, or its client takes no tasks', async () => {
    const fast = sendTask(running.url, { tool: 'slow' });
    (await b.next()).finish('done');
    assert.equal(resultText(await fast), 'done');
    const plain = sendTask(running.url, { tool: 'slow', capabilities: NO_TASKS });
    const there = await b.next();
    clock.advance(10_000);
    there.finish('done later');
    assert.equal(resultText(await plain), 'done later');
  });

  test('is one for clients alone that have declared the extension', async () => {
    const answer = sendTask(running.url, { tool: 'slow' });
    await b.next();
    clock.advance(10_000);
    const task = String(resultOf(await answer)['taskId']);
    const refused = await sendTask(running.url, { method: 'tasks/get', task, capabilities: NO_TASKS });
    assert.deepEqual([refused.status, errorOf(refused).code], [400, -32_021]);
  });
});
