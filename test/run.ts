import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { text } from 'node:stream/consumers';

/**
 * What `npm test` runs: every test file. Those of the one-node cluster have a line of their own beside the others: a
 * machine has one such cluster, and most of their time is waiting for pods; in one line with the others, those whose
 * turn it is not would hold the places.
 */
const ALL = 'test/**/*.test.ts';
const ON_A_NODE = 'test/**/*.node.test.ts';

interface Line {
  readonly ended: Promise<boolean>;
  readonly output: Promise<string>;
}

const running = new AbortController();

const startLine = (files: readonly string[], concurrency: number, isShown: boolean): Line => {
  const args = ['--test', `--test-concurrency=${concurrency}`, '--test-reporter=spec', ...files];
  const stdio = ['ignore', isShown ? 'inherit' : 'pipe', 'inherit'] as const;
  const child = spawn(process.execPath, args, { stdio: [...stdio], signal: running.signal });
  const ended = new Promise<boolean>((resolve) => {
    child.once('error', () => resolve(false)).once('exit', (code) => resolve(code === 0));
  });
  return { ended, output: child.stdout === null ? Promise.resolve('') : text(child.stdout) };
};

if (import.meta.main) {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => running.abort());
  const onANode = globSync(ON_A_NODE);
  const others = globSync(ALL, { exclude: [ON_A_NODE] });
  const lines = [startLine(onANode, 1, false), startLine(others, 2, true)];
  const areGreen = await Promise.all(lines.map(({ ended }) => ended));
  for (const { output } of lines) process.stdout.write(await output);
  process.exitCode = areGreen.every(Boolean) ? 0 : 1;
}
