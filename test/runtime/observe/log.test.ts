import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from '../../../runtime/observe/index.ts';

test('every line carries the fields of the moment, and those of its own', () => {
  const lines: unknown[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const log = createLog({ level: 'info', fields: { server: 'a', team: 'red' } }, destination);
  log.info({ n: 1 }, 'one');
  log.setFields({ server: 'b' });
  log.info({ n: 2 }, 'two');
  log.info({ server: 'own' }, 'three');
  assert.deepEqual(
    lines.map((line) => {
      const { level: _level, time: _time, ...rest } = line as Record<string, unknown>;
      return rest;
    }),
    [
      { server: 'a', team: 'red', n: 1, msg: 'one' },
      { server: 'b', n: 2, msg: 'two' },
      { server: 'own', msg: 'three' },
    ],
  );
});

test('no field is longer than a reader can use', () => {
  const lines: string[] = [];
  const log = createLog({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  log.warn({ detail: 'x'.repeat(1_000_000), n: 1 }, 'odd');
  assert.equal(lines.length, 1);
  assert.ok((lines[0]?.length ?? 0) < 3_000);
  assert.match(lines[0] ?? '', /x…","n":1,"msg":"odd"/);
});
