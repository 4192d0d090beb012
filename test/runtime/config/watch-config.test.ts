import assert from 'node:assert/strict';
import { watch } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, afterEach, beforeEach, describe, test } from 'node:test';
import { readConfigFiles } from '../../../runtime/config/index.ts';
import { watchConfig } from '../../../runtime/config/watch-config.ts';
import { frozenClock, type FrozenClock } from '../../fixtures/frozen-clock.ts';

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

/** The events of the directory, as the system tells them to everyone who watches it. */
const eventsOf = (t: TestContext, watched: string) => {
  let heard = (): void => {};
  const watcher = watch(watched, () => heard());
  t.after(() => watcher.close());
  return {
    /** Resolves once what `cause` does was told, and everything that goes with it. */
    after: async (cause: () => Promise<void>): Promise<void> => {
      const told = new Promise<void>((resolve) => (heard = resolve));
      await cause();
      await told;
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
};

describe('the watch on the configuration', () => {
  test('survives a change that could not be taken over, and goes on to the next one', async () => {
    const seen: string[] = [];
    const failures: unknown[] = [];
    const stop = watchConfig(path, [{ name: path, text: 'first' }], {
      clock,
      read: readConfigFiles,
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

  test('a change while the file is being read is seen as soon as any other, not at the next poll', async (t) => {
    const events = eventsOf(t, directory);
    const changes: (readonly [string, number])[] = [];
    const began = clock.now();
    const stop = watchConfig(path, [{ name: path, text: 'first' }], {
      clock,
      read: async (name) => {
        const files = await readConfigFiles(name);
        if (changes.length === 0) await events.after(() => writeFile(path, 'third'));
        return files;
      },
      onChange: ([file]) => changes.push([file?.text ?? '', clock.now() - began]),
      onUnreadable: (reason) => assert.fail(reason),
      onFailure: (error) => assert.fail(String(error)),
    });
    t.after(stop);
    await events.after(() => writeFile(path, 'second'));
    clock.advance(100);
    while (changes.length < 1) await new Promise((resolve) => setImmediate(resolve));
    clock.advance(100);
    for (let turn = 0; turn < 1_000 && changes.length < 2; turn++)
      await new Promise((resolve) => setTimeout(resolve, 1));
    assert.deepEqual(changes, [
      ['second', 100],
      ['third', 200],
    ]);
  });

  test('a directory in which something happens all the time is looked at every second all the same', async (t) => {
    const events = eventsOf(t, directory);
    const seen: string[] = [];
    const stop = watchConfig(path, [{ name: path, text: 'first' }], {
      clock,
      read: readConfigFiles,
      onChange: ([file]) => seen.push(file?.text ?? ''),
      onUnreadable: (reason) => assert.fail(reason),
      onFailure: (error) => assert.fail(String(error)),
    });
    t.after(stop);
    await writeFile(path, 'second');
    for (let passed = 0; passed <= 1_000; passed += 50) {
      await events.after(() => writeFile(join(directory, 'some.log'), `${passed}`));
      clock.advance(50);
    }
    for (let turn = 0; turn < 1_000 && seen.length < 1; turn++) await new Promise((resolve) => setTimeout(resolve, 1));
    assert.deepEqual(seen, ['second']);
  });
});
