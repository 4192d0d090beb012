import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Running } from '../../runtime/start.ts';
import { errorOf, resultText } from '../fixtures/answers.ts';
import { answerStatus, count, type FixtureBackend, startBackend } from '../fixtures/backend.ts';
import { openSession, type RawSession } from '../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../fixtures/runtime.ts';

describe('a tool that a backend adds without a word', () => {
  let backend: FixtureBackend;
  let running: Running;
  let session: RawSession;
  beforeEach(async () => {
    backend = await startBackend({ tools: ['old'] });
    running = await startRuntime(configFile({ a: backend.url }));
    session = await openSession(running.url);
    assert.deepEqual(await session.toolNames(), ['a_old']);
  });
  afterEach(async () => {
    await running.stop();
    await backend.close();
  });

  test('is found by the first call of it, and listed from then on', async () => {
    backend.set({ tools: ['old', 'new'] });
    assert.equal(resultText(await session.call('a_new', { x: 1 })), 'new {"x":1}');
    assert.deepEqual(await session.toolNames(), ['a_new', 'a_old']);
  });

  test('costs the backend one look at its lists for all who ask for names that it does not have', async () => {
    const before = count(backend, 'tools/list');
    const names = Array.from({ length: 20 }, (_, each) => `a_nothing${each}`);
    const answers = await Promise.all(names.map((name) => session.call(name)));
    assert.deepEqual(new Set(answers.map((answer) => errorOf(answer).data.reason)), new Set(['unknown_name']));
    for (const name of names) await session.call(name);
    assert.equal(count(backend, 'tools/list'), before + 1);
  });

  test('is refused as unknown where the backend does not answer', async () => {
    backend.set({ on: () => answerStatus(500) });
    assert.equal(errorOf(await session.call('a_new')).data.reason, 'unknown_name');
  });
});
