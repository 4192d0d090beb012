import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { NODES } from './cluster/node/addresses.ts';
import { sharedProcessOf } from './one-process.ts';

/**
 * What `npm test` runs: types, lint, format and every test file, or, with `--fast`, those files that need neither a
 * control plane nor other people's programs. Files that may share a process come first: those on sockets in two
 * processes beside the one that computes, since they wait more than they compute. Those of the one-node cluster
 * have a line of their own beside all others, the check included: a machine has few such clusters, and most of their
 * time is waiting for pods; in one line with the others, those whose turn it is not would hold the places.
 */
const ALL = 'test/**/*.test.ts';
const ON_A_NODE = 'test/**/*.node.test.ts';
const ON_A_CONTROL_PLANE = 'test/**/*.apiserver.test.ts';
const NOT_FAST = [ON_A_NODE, ON_A_CONTROL_PLANE, 'test/{conformance,peers}/**'];

/** Of a test in a file with a process of its own, and in a shared one: what takes longer hangs, and is told by name. */
const TEST_TIMEOUT_MS = 600_000;
const SHARED_TEST_TIMEOUT_MS = 240_000;

const ONE_PROCESS = ['--test-isolation=none', '--test-force-exit', `--test-timeout=${SHARED_TEST_TIMEOUT_MS}`];
const SHARED_PROCESS = 'test/shared-process.ts';
const placesFor = (count: number): readonly string[] => [
  `--test-concurrency=${count}`,
  `--test-timeout=${TEST_TIMEOUT_MS}`,
];

/** Processes among which the files on sockets are dealt out. */
const SOCKET_PROCESSES = 2;

/** Most files wait more than they compute: more of them run at once than there are processors. */
const PLACES = 3;

interface Line {
  readonly isGreen: Promise<boolean>;
  readonly output: Promise<string>;
}

const running = new AbortController();

const startLine = (files: readonly string[], options: readonly string[], isShown = true): Line => {
  // Without a file the test runner would look for all.
  if (files.length === 0) return { isGreen: Promise.resolve(true), output: Promise.resolve('') };
  const isShared = options === ONE_PROCESS;
  const args = ['--test', '--test-reporter=spec', ...options, ...(isShared ? [SHARED_PROCESS] : files)];
  const stdio = ['ignore', isShown ? 'inherit' : 'pipe', 'inherit'] as const;
  const env = { ...process.env, ...(isShared && { TEST_FILES: files.join(' ') }) };
  const child = spawn(process.execPath, args, { stdio: [...stdio], env, signal: running.signal });
  const isGreen = new Promise<boolean>((resolve) => {
    child.once('error', () => resolve(false)).once('exit', (code) => resolve(code === 0));
  });
  return { isGreen, output: child.stdout === null ? Promise.resolve('') : text(child.stdout) };
};

/** Types, lint and format. */
const check = async (): Promise<boolean> => {
  const child = spawn('npm', ['run', 'check'], { stdio: ['ignore', 'inherit', 'inherit'], signal: running.signal });
  return new Promise((resolve) => {
    child.once('error', () => resolve(false)).once('exit', (code) => resolve(code === 0));
  });
};

/** Answers whether all is green. What is wrong by the check ends the run before the other lines begin. */
const runAll = async (isFast: boolean): Promise<boolean> => {
  const onANode = isFast ? [] : globSync(ON_A_NODE);
  const others = globSync(ALL, { exclude: isFast ? NOT_FAST : [ON_A_NODE] }).toSorted();
  const {
    computing = [],
    'on sockets': onSockets = [],
    alone = [],
  } = Object.groupBy(others, (file) => sharedProcessOf(file) ?? 'alone');
  const node = startLine(onANode, placesFor(NODES), false);
  if (!isFast && !(await check())) return false;
  const dealt = Array.from({ length: SOCKET_PROCESSES }, (_, line) =>
    onSockets.filter((_file, index) => index % SOCKET_PROCESSES === line),
  );
  const waiting = dealt.map((files) => startLine(files, ONE_PROCESS, false));
  const areGreen = [await startLine(computing, ONE_PROCESS).isGreen];
  for (const { isGreen, output } of waiting) {
    areGreen.push(await isGreen);
    process.stdout.write(await output);
  }
  areGreen.push(await startLine(alone, placesFor(PLACES)).isGreen, await node.isGreen);
  process.stdout.write(await node.output);
  return areGreen.every(Boolean);
};

if (import.meta.main) {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => running.abort());
  const isGreen = await runAll(process.argv.includes('--fast'));
  running.abort();
  process.exitCode = isGreen ? 0 : 1;
}
