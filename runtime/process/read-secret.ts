/**
 * Where a secret is. With both, the file wins, as it changes when the secret rotates, while the environment of a
 * process stays.
 */
export interface SecretSource {
  /** Path of a file. */
  readonly file?: string | undefined;
  /** Name of an environment variable. */
  readonly environment?: string | undefined;
}

/** Reads a secret; undefined: there is none. */
export type ReadSecret = (source: SecretSource) => Promise<string | undefined>;

export interface SecretReaderDeps {
  readonly readFile: (path: string) => Promise<string>;
  /** The value of a variable of the environment. */
  readonly environment: (name: string) => string | undefined;
}

/**
 * Reads a secret at every use, so that it can rotate. A file that is missing (every mounted secret is optional:
 * docs/secrets.md) or empty is skipped in favour of the environment; one newline at the end of a file is removed.
 * Throws what `readFile` throws for a file that is there and cannot be read.
 */
export const secretReader =
  ({ readFile, environment }: SecretReaderDeps): ReadSecret =>
  async ({ file, environment: variable }) => {
    const fromFile = file === undefined ? undefined : await readIfThere(file, readFile);
    const fromEnvironment = variable === undefined ? undefined : environment(variable);
    return fromFile?.replace(/\r?\n$/, '') || fromEnvironment || undefined;
  };

const readIfThere = async (file: string, readFile: SecretReaderDeps['readFile']): Promise<string | undefined> => {
  try {
    return await readFile(file);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
};
