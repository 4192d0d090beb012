import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { ensureMade } from '../toolchains.ts';

export interface Task {
  readonly template: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface GoOutcome {
  readonly output: string;
  readonly stage?: 'parse' | 'execute';
  readonly error?: string;
}

/** The program around Go's text/template, made where it is missing, or why it cannot be made here. */
export const goEngine = async (): Promise<
  | { readonly ok: true; readonly expand: (tasks: readonly Task[]) => Promise<readonly GoOutcome[]> }
  | { readonly ok: false; readonly why: string }
> => {
  const made = await ensureMade('go-templates', (line) => void process.stderr.write(`${line}\n`));
  if (!made.ok) return made;
  return { ok: true, expand: (tasks) => expand(join(made.folder, 'peer'), tasks) };
};

const expand = async (program: string, tasks: readonly Task[]): Promise<readonly GoOutcome[]> => {
  const child = spawn(program, { stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  child.stdin.end(JSON.stringify(tasks));
  const output = await text(child.stdout);
  const [code] = (await exited) as [number | null];
  if (code !== 0) throw new Error(`the Go program ended with ${code}`);
  return JSON.parse(output) as readonly GoOutcome[];
};
