import { createInterface, type Interface } from 'node:readline';
import type { Terminal } from './workflow-client/index.ts';

export interface OpenTerminal extends Terminal {
  readonly close: () => void;
}

export interface TerminalStreams {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
}

/** Questions and answers on these streams, opened with the first question; after the signal nobody answers. */
export const openTerminal = ({ input, output }: TerminalStreams, signal: AbortSignal): OpenTerminal => {
  let opened: { readonly lines: Interface; readonly typed: AsyncIterator<string> } | undefined;
  const open = (): NonNullable<typeof opened> => {
    const lines = createInterface({ input, output });
    // Ctrl-C would be taken from the process otherwise.
    lines.on('SIGINT', () => lines.close());
    // Keeps what is typed before it is asked for.
    return { lines, typed: lines[Symbol.asyncIterator]() };
  };
  const close = (): void => opened?.lines.close();
  signal.addEventListener('abort', close, { once: true });
  return {
    show: (line) => void output.write(`${line}\n`),
    ask: async (prompt) => {
      if (signal.aborted) return undefined;
      opened ??= open();
      const { lines, typed } = opened;
      lines.setPrompt(prompt);
      lines.prompt();
      const { value, done } = await typed.next();
      return done === true ? undefined : value;
    },
    close,
  };
};
