/** What a subcommand of `vmcp-operator` gets from `main.ts`; nothing below it reads the process. */
export interface CommandDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  /** Aborted by SIGINT and SIGTERM. */
  readonly signal: AbortSignal;
}

export const asksForHelp = (args: readonly string[]): boolean => args.includes('--help') || args.includes('-h');
