import type { Log } from '../../runtime/observe/index.ts';

/** A runtime's log for a terminal: warnings and errors, and everything once `operational.logLevel` is `debug`. */
export const terminalLog = (server: string, write: (text: string) => void): Log => {
  let isVerbose = false;
  const line = (fields: Readonly<Record<string, unknown>>, message: string): void =>
    write(`${server}: ${message} ${JSON.stringify(fields)}\n`);
  const verboseLine: typeof line = (fields, message) => {
    if (isVerbose) line(fields, message);
  };
  return {
    debug: verboseLine,
    info: verboseLine,
    warn: line,
    error: line,
    setLevel: (level) => {
      isVerbose = level === 'debug';
    },
    // Every line begins with the server's name.
    setFields: () => {},
  };
};
