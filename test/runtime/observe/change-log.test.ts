import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changeLog, type Log } from '../../../runtime/observe/index.ts';
import { startBackend } from '../../fixtures/backend.ts';
import { openSession } from '../../fixtures/raw-client.ts';
import { configFile, startRuntime } from '../../fixtures/runtime.ts';

const NOTHING = { collisions: [], unresolved: [], unmatched: [], incomplete: [], mismatched: [], unmatchedLimits: [] };

test('of many lost names the log tells 100 and how many more there are, once', () => {
  const lines: [object, string][] = [];
  const keep = (fields: object, text: string) => void lines.push([fields, text]);
  const log: Log = { debug: keep, info: keep, warn: keep, error: keep, setLevel: () => {}, setFields: () => {} };
  const tell = changeLog(log, () => 0);
  const lost = Array.from({ length: 250 }, (_, index) => ({ name: `t${index}`, keptBy: 'a', lostBy: 'b' }));
  tell([], { ...NOTHING, collisions: lost });
  tell([], { ...NOTHING, collisions: lost });
  assert.equal(lines.length, 101);
  assert.deepEqual(lines.at(-1), [{ count: 150 }, 'more names withheld or without effect']);
});

test('what names nothing, and what nobody may have, is told once, and again when it comes back', () => {
  const lines: [object, string][] = [];
  const keep = (fields: object, text: string) => void lines.push([fields, text]);
  const tell = changeLog(
    { debug: keep, info: keep, warn: keep, error: keep, setLevel: () => {}, setFields: () => {} },
    () => 0,
  );
  const unresolved = [{ name: 't', backends: ['a', 'b'] }];
  const unmatched = [{ workload: 'a', setting: 'filter', tool: 'x' }];
  const collisions = [{ kind: 'resources' as const, name: 'x:1', keptBy: 'a', lostBy: 'b' }];
  tell([], { ...NOTHING, collisions, unresolved, unmatched, unmatchedLimits: ['y'] });
  tell([], { ...NOTHING, unresolved });
  tell([], { ...NOTHING, unmatched });
  tell([], { ...NOTHING, unmatched, unmatchedLimits: ['y'] });
  assert.deepEqual(
    lines.map(([, text]) => text),
    [
      'resource withheld, its URI is taken',
      'tools withheld, no override decides who has the name',
      'setting without effect, the backend has no such tool',
      'rate limit without effect, no tool has this name',
      'setting without effect, the backend has no such tool',
      'rate limit without effect, no tool has this name',
    ],
  );
});

test('a composite tool misses nothing of a backend that was not reached yet', () => {
  const lines: [object, string][] = [];
  const keep = (fields: object, text: string) => void lines.push([fields, text]);
  const tell = changeLog(
    { debug: keep, info: () => {}, warn: keep, error: keep, setLevel: () => {}, setFields: () => {} },
    () => 0,
  );
  const withStatus = (a: string, b: string) => [
    { name: 'a', status: a },
    { name: 'b', status: b },
  ];
  const incomplete = [{ name: 'w', missing: ['a.x', 'b.y'] }];
  tell(withStatus('unknown', 'unknown'), { ...NOTHING, incomplete });
  assert.equal(lines.length, 0);
  tell(withStatus('ready', 'unknown'), { ...NOTHING, incomplete });
  tell(withStatus('ready', 'ready'), { ...NOTHING, incomplete });
  assert.deepEqual(
    lines.map(([fields]) => fields),
    [
      { name: 'w', missing: ['a.x'] },
      { name: 'w', missing: ['a.x', 'b.y'] },
    ],
  );
});

test('a backend that lists other long names every second fills neither log nor status', () => {
  const lines: string[] = [];
  const keep = (fields: object, text: string) => void lines.push(JSON.stringify({ ...fields, text }));
  let now = 0;
  const log: Log = { debug: keep, info: keep, warn: keep, error: keep, setLevel: () => {}, setFields: () => {} };
  const tell = changeLog(log, () => now);
  for (let second = 0; second < 120; second += 1) {
    now = second * 1_000;
    const collisions = Array.from({ length: 30 }, (_, index) => ({
      kind: 'resources' as const,
      name: `x:${second}-${index}${'z'.repeat(100_000)}`,
      keptBy: 'a',
      lostBy: 'a',
    }));
    const message = `left out: ${second}`;
    tell([{ name: 'a', status: 'ready', message }], { ...NOTHING, collisions });
  }
  assert.ok(lines.length <= 2 * 102 + 1, `${lines.length} lines`);
  assert.ok(lines.every((line) => line.length < 400));
  const counted = lines.flatMap((line) => (JSON.parse(line) as { count?: number }).count ?? []);
  // What came after the last count is told in the next minute.
  assert.ok(counted.length === 2 && counted.every((count) => count > 0));
});

test('what a backend lists in vain is told once, and again when it is something else', () => {
  const lines: [object, string][] = [];
  const keep = (fields: object, text: string) => void lines.push([fields, text]);
  const tell = changeLog(
    { debug: keep, info: keep, warn: keep, error: keep, setLevel: () => {}, setFields: () => {} },
    () => 0,
  );
  for (const message of ['x', 'x', 'y', undefined, 'y'])
    tell([{ name: 'a', status: 'ready', ...(message !== undefined && { message }) }], NOTHING);
  const refused = (reason: string) => [{ backend: 'a', reason }, 'entries left out, clients refuse them'];
  assert.deepEqual(lines, [[{ backend: 'a' }, 'backend ready'], refused('x'), refused('y'), refused('y')]);
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

test('the status cuts long names', async () => {
  const uri = JSON.stringify(`x:${'z'.repeat(100_000)}`);
  const resources = Array.from({ length: 3 }, () => `{"uri":${uri},"name":"r"}`);
  const backend = await startBackend({ lists: { resources } });
  const running = await startRuntime(configFile({ a: backend.url }));
  try {
    await (await openSession(running.url)).toolNames();
    assert.equal(running.status().collisionCount, 2);
    assert.ok(JSON.stringify(running.status()).length < 2_000);
  } finally {
    await running.stop();
    await backend.close();
  }
});
