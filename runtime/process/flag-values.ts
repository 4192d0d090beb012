/** A text, or the file that holds it. */
export type TextSource = { readonly text: string } | { readonly file: string };

export type Environment = Readonly<Record<string, string | undefined>>;

type Values = Readonly<Record<string, unknown>>;

/** The value of `--flag`, or the file that `--flag-file` names. Throws where both are given. */
export const sourceOf = (flag: 'token' | 'args' | 'management-token', values: Values): TextSource | undefined => {
  const [text, file] = [values[flag], values[`${flag}-file`]];
  if (text !== undefined && file !== undefined) throw new Error(`give --${flag} or --${flag}-file, not both`);
  if (typeof text === 'string') return { text };
  return typeof file === 'string' ? { file } : undefined;
};

/** The value of an environment variable; one that is empty counts as absent. */
export const variable = (name: string, environment: Environment): TextSource | undefined => {
  const text = environment[name];
  return text === undefined || text === '' ? undefined : { text };
};

/** The token of the caller. */
export const tokenOf = (values: Values, environment: Environment): TextSource | undefined =>
  sourceOf('token', values) ?? variable('VMCP_TOKEN', environment);

/** Throws where a flag is given that only `owner` has. */
export const demandNone = (flags: object, values: object, owner: string): void => {
  const stray = Object.keys(flags).find((flag) => Object.hasOwn(values, flag));
  if (stray !== undefined) throw new Error(`--${stray} is for ${owner}`);
};
