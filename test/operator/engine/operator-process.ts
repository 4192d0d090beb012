import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const source = join(import.meta.dirname, '../../../operator/main.ts');

/** How Node runs the operator, where it is not as it is here. */
export interface NodeProcess {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Default: the one of this tree. */
  readonly program?: string;
  /** Default: nowhere. */
  readonly stdout?: 'ignore' | 'pipe' | 'inherit';
}

/** The operator as a process of its own. */
export const spawnOperator = (
  kubeconfig: string,
  more: Readonly<Record<string, string>> = {},
  { args = [], env = {}, program = source, stdout = 'ignore' }: NodeProcess = {},
): ChildProcess => {
  const flags = {
    kubeconfig,
    image: 'example.test/vmcp:1',
    'operator-namespace': 'vmcp-system',
    'health-port': '0',
    'log-level': 'error',
    ...more,
  };
  const given = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
  return spawn(process.execPath, [...args, program, 'run', ...given], {
    env: { ...process.env, ...env },
    stdio: ['ignore', stdout, 'inherit'],
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

/** Ends it, by default without a word, stopped or not. */
export const kill = async (operator: ChildProcess, signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> => {
  if (operator.exitCode !== null || operator.signalCode !== null) return;
  const exited = once(operator, 'exit');
  operator.kill(signal);
  await exited;
};
