import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { watchConfig } from '../../runtime/watch-files.ts';
import { frozenClock, type FrozenClock } from '../fixtures/frozen-clock.ts';

let directory: string;
let path: string;
let clock: FrozenClock;
beforeEach(async () => {
  clock = frozenClock();
  directory = await mkdtemp(join(tmpdir(), 'vmcp-watch-'));
  path = join(directory, 'config.yaml');
  await writeFile(path, 'first');
});
afterEach(() => rm(directory, { recursive: true }));

/** Lets time pass until `isSo`: reading a file takes as long as it takes. */
const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) {
    clock.advance(10_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
};

describe('the watch on the configuration', () => {
  test('survives a change that could not be taken over, and goes on to the next one', async () => {
    const seen: string[] = [];
    const failures: unknown[] = [];
    const stop = watchConfig(path, [{ name: path, text: 'first' }], {
      clock,
      onChange: ([file]) => {
        seen.push(file?.text ?? '');
        if (file?.text === 'bad') throw new TypeError('Invalid URL');
      },
      onUnreadable: (reason) => assert.fail(reason),
      onFailure: (error) => failures.push(error),
    });
    await writeFile(path, 'bad');
    await until(() => seen.includes('bad'));
    await writeFile(path, 'good');
    await until(() => seen.includes('good'));
    stop();
    assert.equal(failures.length, 1);
  });
});
