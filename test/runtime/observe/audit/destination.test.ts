import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rename, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { auditFile } from '../../../../runtime/observe/audit/destination.ts';
import { frozenClock } from '../../../fixtures/frozen-clock.ts';

const openIn = async (t: TestContext, name = 'audit.log') => {
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-audit-'));
  const path = join(folder, name);
  const clock = frozenClock();
  const file = auditFile(path, clock);
  t.after(async () => {
    await file.close();
    await rm(folder, { recursive: true, force: true });
  });
  return { path, clock, write: (line: string) => file.write(Buffer.from(`${line}\n`)) };
};

describe('an audit file', () => {
  test('is created for its owner alone, and appended to', async (t) => {
    const { path, write } = await openIn(t);
    await write('1');
    await write('2');
    assert.equal(await readFile(path, 'utf8'), '1\n2\n');
    assert.equal((await stat(path)).mode & 0o777, 0o600);
  });

  test('that was renamed is left to its reader after a second, and a new one is begun', async (t) => {
    const { path, clock, write } = await openIn(t);
    await write('1');
    await rename(path, `${path}.1`);
    await write('2');
    clock.advance(1_000);
    await write('3');
    assert.equal(await readFile(`${path}.1`, 'utf8'), '1\n2\n');
    assert.equal(await readFile(path, 'utf8'), '3\n');
    assert.equal((await stat(path)).mode & 0o777, 0o600);
  });

  test('that was truncated goes on at its beginning, without a hole', async (t) => {
    const { path, clock, write } = await openIn(t);
    await write('1'.repeat(100));
    await truncate(path);
    clock.advance(1_000);
    await write('2');
    assert.equal(await readFile(path, 'utf8'), '2\n');
  });

  test('that cannot be opened is an error, and no longer one when it can', async (t) => {
    const { path, write } = await openIn(t, 'missing/audit.log');
    const { written, error } = await write('1');
    assert.deepEqual([written, (error as NodeJS.ErrnoException).code], [0, 'ENOENT']);
    execFileSync('mkdir', [join(path, '..')]);
    assert.deepEqual(await write('2'), { written: 2 });
    assert.equal(await readFile(path, 'utf8'), '2\n');
  });

  test('that is a FIFO without a reader holds up nothing', async (t) => {
    const { path, write } = await openIn(t);
    execFileSync('mkfifo', [path]);
    assert.equal(((await write('1')).error as NodeJS.ErrnoException).code, 'ENXIO');
  });
});
