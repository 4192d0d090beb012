import { after, beforeEach } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';

/**
 * For `node --test --test-isolation=none`, with `--import`: finds files that leave a timer, a socket or a watch open.
 * In a process of its own such a file does not end; among others it would go unnoticed.
 */

/** What keeps the process alive. */
const active = (): readonly string[] => process.getActiveResourcesInfo();

let atFirst: readonly string[] | undefined;
let soFar = 0;
let current: string | undefined;
const suspects: string[] = [];

const look = (): void => {
  const now = active();
  atFirst ??= now;
  if (current !== undefined && now.length > soFar) suspects.push(`${current} (${now.join(', ')})`);
  soFar = now.length;
};

// Hooks of the root: of the tests of every file.
beforeEach((context) => {
  const file = 'filePath' in context ? context.filePath : undefined;
  if (file === current) return;
  look();
  current = file;
});

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
  throw new Error(`left open is ${active().join(', ')}; there was more after ${suspects.join('; ')}`);
});
