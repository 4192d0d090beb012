import { createInterface, type Interface } from 'node:readline';
import type { Terminal } from './workflow-client/index.ts';

export interface OpenTerminal extends Terminal {
  readonly close: () => void;
}

/** Questions and answers on these streams, which are opened with the first question. */
export const openTerminal = (input: NodeJS.ReadableStream, output: NodeJS.WritableStream): OpenTerminal => {
  let opened: { readonly lines: Interface; readonly typed: AsyncIterator<string> } | undefined;
  const open = (): NonNullable<typeof opened> => {
    const lines = createInterface({ input, output });
    // Ctrl-C would be taken from the process otherwise.
    lines.on('SIGINT', () => lines.close());
    // Keeps what is typed before it is asked for.
    return { lines, typed: lines[Symbol.asyncIterator]() };
  };
  return {
    show: (line) => void output.write(`${line}\n`),
    ask: async (prompt) => {
      opened ??= open();
      const { lines, typed } = opened;
      lines.setPrompt(prompt);
      lines.prompt();
      const { value, done } = await typed.next();
      return done === true ? undefined : value;
    },
    close: () => opened?.lines.close(),
  };
};
