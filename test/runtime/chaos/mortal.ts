import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** A backend in a process of its own, that can be killed as the kernel kills. */
export interface Mortal {
  /** Resolves with the next call that reaches it; it was executed then. */
  readonly called: () => Promise<void>;
  /** Calls that it has begun to execute, as far as it is known here yet. */
  readonly executions: () => number;
  /** SIGKILL: nothing is answered, nothing is closed properly. */
  readonly kill: () => Promise<void>;
}

/** `hang`: calls are never answered. */
export const startMortal = async (port: number, calls: 'answer' | 'hang'): Promise<Mortal> => {
  const child: ChildProcess = fork(join(import.meta.dirname, 'mortal-backend.ts'), [String(port), calls]);
  await once(child, 'message');
  let executions = 0;
  child.on('message', () => (executions += 1));
  return {
    executions: () => executions,
    called: async () => void (await once(child, 'message')),
    kill: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const dead = once(child, 'exit');
      child.kill('SIGKILL');
      await dead;
    },
  };
};
