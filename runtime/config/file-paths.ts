import * as z from 'zod';
import { walk } from './schema-walk.ts';

/** Schemas of texts that name a file. What is derived from a marked schema (`.describe()`, …) is marked with it. */
const registry = z.registry<{ readonly isFilePath: true }>();

/** Absolute path of a file the process can read. */
export const filePathSchema = z
  .string()
  .max(4096)
  .regex(/^\//, { error: 'not an absolute path; start it with /' })
  .register(registry, { isFilePath: true });

/** Every file that a value names where `schema` has a path. */
export function filePathsIn(schema: z.core.$ZodType, value: unknown): readonly string[] {
  const found: string[] = [];
  walk({ schema, value, path: [] }, (at) => {
    if (typeof at.value === 'string' && registry.get(at.schema) !== undefined) found.push(at.value);
    return true;
  });
  return found;
}
