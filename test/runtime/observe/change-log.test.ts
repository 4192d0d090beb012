import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changeLog, type Log } from '../../../runtime/observe/index.ts';
import { startBackend } from '../../fixtures/backend.ts';
import { openSession } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';

test('of many lost names the log tells 100 and how many more there are, once', () => {
  const lines: [object, string][] = [];
  const keep = (fields: object, text: string) => void lines.push([fields, text]);
  const log: Log = { debug: keep, info: keep, warn: keep, error: keep, setLevel: () => {}, setFields: () => {} };
  const tell = changeLog(log);
  const lost = Array.from({ length: 250 }, (_, index) => ({ name: `t${index}`, keptBy: 'a', lostBy: 'b' }));
  tell([], lost);
  tell([], lost);
  assert.equal(lines.length, 101);
  assert.deepEqual(lines.at(-1), [{ count: 150 }, 'more tools withheld, their names are taken']);
});

test('of many lost names the status tells 100 and the number of all', async () => {
  const backend = await startBackend({ tools: Array.from({ length: 201 }, () => 'same') });
  const running = await startRuntime(configFile({ a: backend.url }));
  try {
    await (await openSession(running.url)).toolNames();
    const { collisions, collisionCount } = running.status();
    assert.deepEqual([collisions.length, collisionCount], [100, 200]);
  } finally {
    await running.stop();
    await backend.close();
  }
});
