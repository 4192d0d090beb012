import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Observers } from '../../../runtime/observe/index.ts';
import { errorOf, resultText } from '../../fixtures/answers.ts';
import { startBackend } from '../../fixtures/backend.ts';
import { openSession } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';

test('several observers see each request and each call, the first one around the others', async (t) => {
  const backend = await startBackend({ tools: ['t'] });
  const seen: string[] = [];
  const noting =
    (name: string) =>
    async <T>(next: () => Promise<T>) => {
      seen.push(`${name} begins`);
      return next().finally(() => seen.push(`${name} ends`));
    };
  const observers: readonly Partial<Observers>[] = [
    {
      audit: (_record, next) => noting('audit')(next),
      aroundCall: (_call, _record, next) => noting('audit of call')(next),
    },
    {},
    { trace: (_record, next) => noting('trace')(next), aroundCall: (_call, _record, next) => noting('span')(next) },
  ];
  const running = await startRuntime(configFile({ a: backend.url }), {}, { features: () => ({ observers }) });
  t.after(async () => {
    await running.stop();
    await backend.close();
  });
  const session = await openSession(running.url);
  const expected = ['audit', 'trace', 'audit of call', 'span'];
  for (const name of ['a_t', 'no_such']) {
    seen.length = 0;
    const answer = await session.call(name);
    if (name === 'a_t') assert.equal(resultText(answer), 't {}');
    else assert.equal(errorOf(answer).data.reason, 'unknown_name');
    assert.deepEqual(seen, [
      ...expected.map((each) => `${each} begins`),
      ...expected.toReversed().map((each) => `${each} ends`),
    ]);
  }
});
