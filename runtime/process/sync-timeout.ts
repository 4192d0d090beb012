import { constants, createContext, Script } from 'node:vm';

/** Runs `work`, which does not wait for anything, and gives it up after `ms`; undefined: it was given up. */
export type SyncTimeout = <T extends object>(ms: number, work: () => T) => T | undefined;

/**
 * A bound on work that cannot be stopped by itself, such as a regular expression or code that a library generates: V8
 * ends it, wherever it stands, so it must not change what others read. A watchdog thread for each piece of work takes
 * some tens of microseconds.
 */
export const syncTimeout = (): SyncTimeout => {
  const context = createContext(constants.DONT_CONTEXTIFY) as { run?: () => void };
  const script = new Script('run()');
  return <T extends object>(ms: number, work: () => T): T | undefined => {
    let result: T | undefined;
    context.run = () => {
      result = work();
    };
    try {
      script.runInContext(context, { timeout: ms });
      return result;
    } catch (error) {
      if (isTimeout(error)) return undefined;
      throw error;
    } finally {
      delete context.run;
    }
  };
};

/** The error belongs to the other context, and so is no `Error` of this one. */
const isTimeout = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
