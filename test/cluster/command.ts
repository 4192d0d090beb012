import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

export interface CommandOptions {
  readonly input?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly signal?: AbortSignal;
}

/** Runs a program to its end and returns what it printed; throws with its standard error when it fails. */
export async function run(program: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const { input, ...rest } = options;
  const child = spawn(program, args, { ...rest, stdio: ['pipe', 'pipe', 'pipe'] });
  // A program that ends before it has read its input is judged by its exit code, not by our EPIPE.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const [stdout, stderr, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  if (code === 0) return stdout;
  throw new Error(`${[program, ...args].join(' ')} ended with ${code ?? signal}\n${stderr}${stdout}`);
}

/** Whether the program can be run at all. */
export async function isThere(program: string, args: readonly string[] = ['--version']): Promise<boolean> {
  return run(program, args).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
  );
}
