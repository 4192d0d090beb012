import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Running } from '../../../runtime/start.ts';
import { errorOf, resultOf, resultText } from '../../fixtures/answers.ts';
import { type FixtureBackend, startBackend } from '../../fixtures/backend.ts';
import { askedIn, sendModern, type Sent } from '../../fixtures/modern-caller.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';
import { legacyCaller, modernCaller } from '../../fixtures/workflow-callers.ts';

const YES = { action: 'accept', content: {} };
const NO = { action: 'decline' };

const P = { id: 'p', type: 'elicitation', message: 'P?', onDecline: { action: 'skip_remaining' } };
const Q = { id: 'q', type: 'elicitation', message: 'Q?' };
const OUTPUT = {
  properties: {
    p: { value: '{{.steps.p.status}}' },
    q: { value: '{{.steps.q.status}}' },
    x: { value: '{{.steps.x.status}}' },
  },
};
const X = { id: 'x', tool: 'a.one', dependsOn: ['p', 'q'] };

/** Two questions at one time, in either order. */
const both = (name: string, steps: readonly object[]): object =>
  structuredClone({ name, steps: [...steps, X], output: OUTPUT });

describe('questions of a workflow', () => {
  let backend: FixtureBackend;
  let running: Running;
  before(async () => {
    backend = await startBackend({ tools: ['one'] });
    const compositeTools = [both('p_first', [P, Q]), both('q_first', [Q, P]), { name: 'one', steps: [{ ...Q }] }];
    running = await startRuntime(configFile({ a: backend.url }, { compositeTools }));
  });
  after(async () => {
    await running.stop();
    await backend.close();
  });

  const onlyP = ({ message }: { readonly message?: unknown }): object | undefined =>
    message === 'P?' ? NO : undefined;

  for (const name of ['p_first', 'q_first']) {
    test(`that skips the rest withdraws the one beside it, which has no answer yet (${name}, legacy)`, async () => {
      const answer = await (await legacyCaller(running.url))(name, {}, onlyP);
      assert.deepEqual(resultOf(answer)['structuredContent'], { p: 'completed', q: 'skipped', x: 'skipped' });
      const asked = answer.messages as readonly { id?: unknown; method?: string; params?: Record<string, unknown> }[];
      const q = asked.find(({ params }) => params?.['message'] === 'Q?');
      const withdrawn = asked.find(({ method }) => method === 'notifications/cancelled');
      assert.equal(withdrawn?.params?.['requestId'], q?.id);
    });

    test(`that skips the rest withdraws the one beside it, which has no answer yet (${name}, modern)`, async () => {
      const answer = await modernCaller(running.url)(name, {}, onlyP);
      assert.deepEqual(resultOf(answer)['structuredContent'], { p: 'completed', q: 'skipped', x: 'skipped' });
    });
  }

  test('answers that are no object are refused, and the state stays good', async () => {
    const send = (sent: Sent) => sendModern(running.url, { name: 'one', args: {}, ...sent });
    const { state } = askedIn(await send({}));
    for (const answers of [[], 'yes', null, 1])
      assert.match(errorOf(await send({ state, answers })).message, /params.inputResponses is not an object/);
    assert.equal(resultText(await send({ state, answers: { q: YES } })), '{"action":"accept","content":{}}');
  });
});
