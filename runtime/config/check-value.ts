import * as z from 'zod';
import { explain, type Finding } from './explain.ts';

/** Everything a schema of the contract refuses in a value as it is written, in the words of the loader. */
export function findingsIn(schema: z.core.$ZodType, value: unknown): readonly Finding[] {
  const { error } = z.safeParse(schema, value);
  return (error?.issues ?? []).flatMap((issue) => explain(issue, { schema, value }));
}
