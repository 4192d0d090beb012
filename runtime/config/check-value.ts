import * as z from 'zod';
import { explain, type Finding } from './explain.ts';

/** All findings of a schema in a value as written, worded as by the loader. */
export function findingsIn(schema: z.core.$ZodType, value: unknown): readonly Finding[] {
  const { error } = z.safeParse(schema, value);
  return (error?.issues ?? []).flatMap((issue) => explain(issue, { schema, value }));
}
