import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const program = join(import.meta.dirname, '../../../operator/main.ts');

/** The operator as a process of its own, one reconcile after the other. */
export const spawnOperator = (
  kubeconfig: string,
  more: Readonly<Record<string, string>> = {},
  node: { readonly args?: readonly string[]; readonly stdout?: 'ignore' | 'pipe' } = {},
): ChildProcess => {
  const flags = {
    kubeconfig,
    image: 'example.test/vmcp:1',
    'operator-namespace': 'vmcp-system',
    workers: '1',
    'health-port': '0',
    'log-level': 'error',
    ...more,
  };
  const args = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
  return spawn(process.execPath, [...(node.args ?? []), program, 'run', ...args], {
    stdio: ['ignore', node.stdout ?? 'ignore', 'inherit'],
  });
};

/** Node's arguments for a process whose clock is wrong by so much, and by more from each SIGUSR2 on. */
export const wrongClock = (ms: number, moreMs = 0): readonly string[] => {
  const script = `
    let off = ${ms};
    const right = Date.now;
    Date.now = () => right() + off;
    process.on('SIGUSR2', () => { off += ${moreMs}; });`;
  return [`--import=data:text/javascript,${encodeURIComponent(script)}`];
};

/** Ends it without a word, stopped or not. */
export const kill = async (operator: ChildProcess): Promise<void> => {
  if (operator.exitCode !== null || operator.signalCode !== null) return;
  const exited = once(operator, 'exit');
  operator.kill('SIGKILL');
  await exited;
};
