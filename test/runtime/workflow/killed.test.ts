import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { errorOf, resultOf, resultText } from '../../fixtures/answers.ts';
import { answerJson, type FixtureBackend, startBackend } from '../../fixtures/backend.ts';
import { askedIn, sendModern } from '../../fixtures/modern-caller.ts';
import { dumpOf, noRedis, startRedis, type TestRedis } from '../../fixtures/redis.ts';
import { sharedConfig } from '../../fixtures/replicas.ts';
import { type RuntimeProcesses, runtimeProcesses } from '../../fixtures/runtime-process.ts';
import { sendTask } from '../../fixtures/task-caller.ts';

const SECRET = 'what the first step has found out';
/** A result beyond what travels with the client, so that the store keeps it. */
const LARGE = 40_000;

const steps = (tool: string): readonly object[] => [
  { id: 'read', tool: `a.${tool}` },
  { id: 'ask', type: 'elicitation', message: 'Shall it go on?', dependsOn: ['read'] },
  {
    id: 'write',
    tool: 'a.write',
    dependsOn: ['ask'],
    arguments: { found: '{{.steps.read.output.found}}', size: '{{len .steps.read.output.more}}' },
  },
];

const WORKFLOWS = [
  { name: 'small', steps: steps('read_small') },
  { name: 'large', steps: steps('read_large') },
];

const YES = { ask: { action: 'accept', content: {} } };

describe('a workflow that waits at a replica which is killed', { skip: noRedis }, () => {
  let redis: TestRedis;
  let backend: FixtureBackend;
  let processes: RuntimeProcesses;

  before(async () => {
    redis = await startRedis();
    backend = await startBackend({
      tools: ['read_small', 'read_large', 'write'],
      on: ({ recorded: { method, params } }) => {
        if (method !== 'tools/call' || params['name'] === 'write') return undefined;
        const more = 'x'.repeat(params['name'] === 'read_large' ? LARGE : 1);
        return answerJson(JSON.stringify({ content: [], structuredContent: { found: SECRET, more } }));
      },
    });
    const [file] = sharedConfig(redis.address, { a: backend.url });
    processes = await runtimeProcesses(`${file?.text}compositeTools: ${JSON.stringify(WORKFLOWS)}\n`);
  });
  after(async () => {
    await processes.close();
    await Promise.all([redis.stop(), backend.close()]);
  });

  const called = (): readonly string[] =>
    backend.requests.flatMap(({ method, params }) => (method === 'tools/call' ? [String(params['name'])] : []));

  for (const { name } of WORKFLOWS) {
    const read = `read_${name}`;
    test(`goes on at another one, where its state is ${name}, and repeats no step`, { timeout: 60_000 }, async () => {
      const before = called().length;
      const [one, two] = await Promise.all([processes.start(), processes.start()]);
      const { state } = askedIn(await sendModern(one.url, { name, args: {} }));
      assert.doesNotMatch(state, new RegExp(SECRET));
      assert.doesNotMatch(Buffer.from(state, 'base64').toString('latin1'), new RegExp(SECRET));
      assert.doesNotMatch(await dumpOf(redis), new RegExp(SECRET));
      await one.kill();
      const answer = await sendModern(two.url, { name, args: {}, state, answers: YES });
      assert.match(resultText(answer), new RegExp(`${SECRET}.*"size":"${name === 'large' ? LARGE : 1}"`));
      assert.deepEqual(called().slice(before), [read, 'write']);

      const three = await processes.start();
      const again = errorOf(await sendModern(three.url, { name, args: {}, state, answers: YES }));
      assert.equal(again.code, -32_602, again.message);
      assert.deepEqual(called().slice(before), [read, 'write']);
      await Promise.all([two.kill(), three.kill()]);
    });

    test(`goes on as a task at another one, where its state is ${name}`, { timeout: 60_000 }, async () => {
      const before = called().length;
      const [one, two] = await Promise.all([processes.start(), processes.start()]);
      const { taskId, status } = resultOf(await sendTask(one.url, { tool: name, args: {} }));
      const task = String(taskId);
      assert.equal(status, 'input_required');
      const dump = await dumpOf(redis);
      for (const secret of [SECRET, task]) assert.ok(!dump.includes(secret));
      await one.kill();
      assert.equal(
        (await sendTask(two.url, { method: 'tasks/update', task, answers: { 'ask.1': YES.ask } })).status,
        200,
      );
      let got = resultOf(await sendTask(two.url, { method: 'tasks/get', task }));
      while (got['status'] === 'working') got = resultOf(await sendTask(two.url, { method: 'tasks/get', task }));
      assert.match(JSON.stringify(got['result']), new RegExp(SECRET));
      assert.deepEqual(called().slice(before), [read, 'write']);
      await two.kill();
    });
  }
});
