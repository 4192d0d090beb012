import type { ParseArgsOptionDescriptor } from 'node:util';

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The flags, each with the value of its variable as its default (`--health-port`, `VMCP_HEALTH_PORT`), so that a flag
 * wins over it.
 */
export const withEnvironment = <Flags extends Readonly<Record<string, ParseArgsOptionDescriptor>>>(
  flags: Flags,
  env: Environment,
): Flags =>
  Object.fromEntries(Object.entries(flags).map(([name, flag]) => [name, withVariable(name, flag, env)])) as Flags;

const withVariable = (name: string, flag: ParseArgsOptionDescriptor, env: Environment): ParseArgsOptionDescriptor => {
  const variable = `VMCP_${name.toUpperCase().replaceAll('-', '_')}`;
  const value = env[variable];
  if (value === undefined || value === '') return flag;
  return { ...flag, default: flag.type === 'boolean' ? oneOf(variable, value, ['true', 'false']) === 'true' : value };
};

/** Throws with the flag and what it must be. */
export const wholeNumber = (flag: string, text: string | undefined, min: number): number => {
  const value = Number(text);
  if (!Number.isInteger(value) || value < min || value > 65_535) {
    throw new Error(`${flag} must be a whole number from ${min} to 65535, not "${text}"`);
  }
  return value;
};

/** Throws with the flag and what it must be. */
export const oneOf = (flag: string, text: string | undefined, words: readonly string[]): string => {
  if (text === undefined || !words.includes(text)) {
    throw new Error(`${flag} must be one of ${words.join(', ')}, not "${text}"`);
  }
  return text;
};

/** The words between commas, trimmed; empty ones are left out. */
export const listOf = (text: string | undefined): readonly string[] =>
  (text ?? '').split(',').flatMap((name) => name.trim() || []);

/** A ConfigMap, or a ConfigMap and its key; empty: none. Throws with the flag and what it must be. */
export const trustedCaOf = (
  text: string,
): { readonly trustedCa?: { readonly configMap: string; readonly key: string } } => {
  if (text === '') return {};
  const [, configMap, key = 'ca.crt'] = TRUSTED_CA.exec(text) ?? [];
  if (configMap === undefined)
    throw new Error(`--trusted-ca must be the name of a ConfigMap, or name/key, not "${text}"`);
  return { trustedCa: { configMap, key } };
};

const TRUSTED_CA = /^([a-z0-9](?:[-a-z0-9.]*[a-z0-9])?)(?:\/(?!\.{1,2}$)([-._a-zA-Z0-9]+))?$/;
