import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { answerJson, type Behaviour, type Exchange, startBackend } from '../../fixtures/backend.ts';
import { frozenClock } from '../../fixtures/frozen-clock.ts';
import { FEW_TOOLS, foundIn, namesOf } from '../../fixtures/optimized.ts';
import { openSession } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';

/** A runtime whose one backend does not tell its tools, and a search that began before it did. */
const startSearch = async (t: TestContext) => {
  let asked: Exchange | undefined;
  const keep: Behaviour = (exchange) => {
    asked = exchange;
  };
  const backend = await startBackend({
    tools: [],
    on: ({ recorded }) => (recorded.method === 'tools/list' ? keep : undefined),
  });
  const clock = frozenClock();
  const running = await startRuntime(configFile({ a: backend.url }, { optimizer: {} }), {}, { clock });
  t.after(async () => {
    const stopped = running.stop();
    await backend.close();
    clock.advance(60_000);
    await stopped;
  });
  const session = await openSession(running.url);
  await backend.received(({ method }) => method === 'tools/list');
  let isAnswered = false;
  const finding = session.call('find_tool', { tool_description: 'a defect' }).finally(() => (isAnswered = true));
  for (let turns = 0; turns < 3; turns += 1) await session.request('ping');
  if (isAnswered) assert.fail((await finding).text);
  const list = (): void => answerJson(`{"tools":[${FEW_TOOLS.join()}]}`)(asked ?? assert.fail('not asked'));
  return { list, clock, finding };
};

test('a search that comes before the first lists waits for them, as lists do', async (t) => {
  const { list, finding } = await startSearch(t);
  list();
  assert.deepEqual(namesOf(foundIn(await finding)), ['a_open_ticket']);
});

test('no longer than lists wait: then it is answered with what there is', async (t) => {
  const { clock, finding } = await startSearch(t);
  clock.advance(10_000);
  assert.deepEqual(namesOf(foundIn(await finding)), []);
});
