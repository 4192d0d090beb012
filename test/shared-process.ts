import { after, before, describe } from 'node:test';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/**
 * Runs several test files in one process, one after the other: `node --test --test-isolation=none` with this file, and
 * theirs in `TEST_FILES` (paths from the root of the repository, by spaces). Each is a suite of its own, so that hooks
 * at its top are of its tests alone. The run fails, and names the files, where one leaves a timer, a socket or a watch
 * open: in a process of its own such a file does not end; among others it would go unnoticed.
 */
const files = (process.env['TEST_FILES'] ?? '').split(' ').filter(Boolean);

/** What keeps the process alive. */
const active = (): readonly string[] => process.getActiveResourcesInfo();

let atFirst: readonly string[] | undefined;
let soFar = 0;
let current: string | undefined;
const suspects: string[] = [];

const told = (resources: readonly string[]): string =>
  Object.entries(Object.groupBy(resources, (name) => name))
    .map(([name, all = []]) => `${all.length} × ${name}`)
    .join(', ');

/** Between two files: whether there is more than before the one that has ended. */
const look = (next?: string): void => {
  const now = active();
  atFirst ??= now;
  if (current !== undefined && now.length > soFar) suspects.push(`${current} (${told(now)})`);
  soFar = now.length;
  current = next;
};

const suiteOf = (file: string): Promise<void> =>
  new Promise((resolve) => {
    void describe(file, async () => {
      before(() => look(file));
      await import(join(import.meta.dirname, '..', file)).finally(resolve);
    });
  });

// Of two that are loaded at once, one could get the tests of the other.
for (const file of files) await suiteOf(file);

/** What is closing, as sockets that were kept for another request, is gone by then. */
const GRACE_MS = 10_000;

const isOpen = (): boolean => active().length > (atFirst ?? []).length;

after(async () => {
  look();
  const end = performance.now() + GRACE_MS;
  // Without a reference: what is left open is to be seen, and this is not.
  while (isOpen() && performance.now() < end) await pause(20, undefined, { ref: false });
  if (!isOpen()) return;
  // Of the root's own hooks the test runner tells the failure, and does not count it.
  process.exitCode = 1;
  throw new Error(`left open is ${told(active())}; there was more after ${suspects.join('; ')}`);
});
