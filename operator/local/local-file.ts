import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import * as z from 'zod';
import { httpUrlSchema, workloadNameSchema } from '../../runtime/config/index.ts';
import { LOCAL_FILE } from '../read/directory.ts';

/** Decisions "Local mode": where backends really run, and which ports servers get. */
const schema = z.strictObject({
  backends: z.record(workloadNameSchema, httpUrlSchema).default({}),
  ports: z.record(z.string(), z.int().min(1).max(65_534)).default({}),
});

export type LocalFile = Readonly<z.output<typeof schema>>;

export type ReadLocalFile =
  | { readonly ok: true; readonly file: LocalFile }
  | { readonly ok: false; readonly problems: readonly string[] };

/** `<dir>/local.yaml`; without one everything is at its default. */
export const readLocalFile = (directory: string): ReadLocalFile => {
  const text = readIfThere(join(directory, LOCAL_FILE));
  if (typeof text !== 'string')
    return { ok: false, problems: [`${LOCAL_FILE}: cannot be read: ${text.message}; make it readable, or remove it`] };
  const value = parseText(text);
  if (!value.ok) return { ok: false, problems: [`${LOCAL_FILE}: not YAML: ${value.problem}`] };
  const { data, error } = schema.safeParse(value.value ?? {});
  if (data !== undefined) return { ok: true, file: data };
  const problems = error.issues.map(({ path, message }) => `${LOCAL_FILE}: ${path.join('.')}: ${message}`);
  return { ok: false, problems };
};

const readIfThere = (path: string): string | Error => {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? '' : (error as Error);
  }
};

const parseText = (text: string): { ok: true; value: unknown } | { ok: false; problem: string } => {
  try {
    return { ok: true, value: parse(text) as unknown };
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : String(error) };
  }
};
