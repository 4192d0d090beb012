import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { takeLock } from '../../../operator/local/lock.ts';
import { runLocal } from '../../../operator/local.ts';

const lockedBy = async (t: TestContext, holder: string): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), 'vmcp-lock-'));
  t.after(() => rm(directory, { recursive: true }));
  await mkdir(join(directory, '.vmcp'));
  await writeFile(join(directory, '.vmcp', 'lock'), holder);
  return directory;
};

test('a directory that a living process serves is not served twice', async (t) => {
  const directory = await lockedBy(t, `${process.ppid}\n`);
  const told: string[] = [];
  const add = (text: string): void => void told.push(text);
  const deps = { env: {}, stdout: add, stderr: add, signal: new AbortController().signal };
  assert.equal(await runLocal([directory], deps), 1);
  assert.match(told.join(''), new RegExp(`is already served by process ${process.ppid}; stop that first`));
  assert.equal(await readFile(join(directory, '.vmcp', 'lock'), 'utf8'), `${process.ppid}\n`);
});

for (const [what, holder] of [
  ['a process that has ended', () => String(spawnSync(process.execPath, ['--version']).pid)],
  ['this process in an earlier life', () => String(process.pid)],
  ['nobody', () => ''],
  ['a text', () => 'me'],
] as const) {
  test(`the lock of ${what} is taken over, and goes with the process`, async (t) => {
    const directory = await lockedBy(t, holder());
    const lock = takeLock(directory);
    assert.ok('release' in lock);
    assert.equal(await readFile(join(directory, '.vmcp', 'lock'), 'utf8'), `${process.pid}\n`);
    lock.release();
    assert.equal(existsSync(join(directory, '.vmcp', 'lock')), false);
  });
}
