import * as z from 'zod';

import type { Rule } from '../runtime/config/index.ts';
import { keyedList } from '../runtime/config/index.ts';

/** What a Kubernetes schema says beside the shape of a value. */
export interface Marks {
  /** The value names another object of the same namespace. */
  readonly refersTo?: string;
  readonly preserveUnknownFields?: true;
  /** Rules of Kubernetes alone, beside those of the schema. */
  readonly rules?: readonly Rule[];
  readonly maxItems?: number;
  readonly maxLength?: number;
  readonly maxProperties?: number;
}

interface SchemaMarks extends Marks {
  /** Marks of fields inside a schema that another room owns, by path (`tools[].toolConfigRef`). */
  readonly below?: Readonly<Record<string, Marks>>;
}

const registry = z.registry<SchemaMarks>();

/** Adds marks to a schema of ours; returns it. */
export const mark = <T extends z.ZodType>(schema: T, marks: SchemaMarks): T => {
  registry.add(schema, { ...registry.get(schema), ...marks });
  return schema;
};

export const marksOf = (schema: z.core.$ZodType): SchemaMarks => registry.get(schema) ?? {};

/** A list whose entries are unique and whose order means nothing. */
export const setOf = <T extends z.ZodType>(item: T) => z.array(item).meta({ 'x-kubernetes-list-type': 'set' });

/** A reference `{name}` to an object of the same namespace. */
export const refTo = (kind: string, name: z.ZodString = z.string()) => refWith(kind, {}, name);

/** A reference that says more than the name (`audience`, `key` …). */
export const refWith = <T extends z.core.$ZodLooseShape>(kind: string, more: T, name: z.ZodString = z.string()) =>
  mark(z.strictObject({ name: name.describe(`Name of the ${kind}, in the same namespace`), ...more }), {
    refersTo: kind,
  });

/** docs/decisions.md "Secrets in files" */
export const secretRef = () => refWith('Secret', { key: dataKey().describe('Key inside the Secret') }, subdomain());

export const configMapKeyRef = () =>
  refWith('ConfigMap', { key: dataKey().describe('Key inside the ConfigMap') }, subdomain());

/** Kubernetes: DNS subdomain names. */
export const subdomain = () =>
  z
    .string()
    .max(253)
    .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, {
      error: 'not a name; use lower-case letters, digits, inner hyphens and dots',
    });

/** Kubernetes: keys of Secrets and ConfigMaps, which become names of files. */
export const dataKey = () =>
  z
    .string()
    .max(253)
    .regex(/^([-_a-zA-Z0-9]|\.[-_a-zA-Z0-9])[-._a-zA-Z0-9]*$/, {
      error: 'not a key; use letters, digits, -, _ and ., not two dots at the start',
    });

/** A JSON object of any content, kept as it is. */
export const freeForm = () => mark(z.looseObject({}), { preserveUnknownFields: true });

export const nonEmpty = () => z.string().min(1);

/** docs/decisions.md "Conditions" */
export const condition = z.strictObject({
  type: z
    .string()
    .max(316)
    .regex(/^([A-Za-z0-9][-A-Za-z0-9_.]*\/)?[A-Z][A-Za-z0-9]*$/)
    .describe('What is observed, in CamelCase or as <domain>/CamelCase'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Whether it holds'),
  reason: z
    .string()
    .min(1)
    .max(1024)
    .regex(/^[A-Z][A-Za-z0-9]*$/)
    .describe('Why, as one CamelCase word'),
  message: z.string().max(32_768).describe('What happened and what to do, for people'),
  lastTransitionTime: z.iso.datetime({ offset: true }).describe('When the status last changed'),
  observedGeneration: z.int().min(0).optional().describe('The generation of the object this was observed at'),
});

/** Of kinds whose last good spec serves while the newest one is refused. */
export const statusExtensions = <T extends z.core.$ZodLooseShape>(more: T) =>
  z
    .strictObject({
      ...more,
      acceptedGeneration: z
        .int()
        .optional()
        .describe('Generation of the spec that was accepted last; no earlier one is served again.'),
    })
    .optional()
    .describe('Facts beyond the common specification.');

/** What every status begins with. */
export const commonStatus = {
  conditions: keyedList(condition, 'type').optional().describe('Latest observations'),
  // No object has generation -1. Without this, kstatus reports a new object as Current before the operator has seen it.
  observedGeneration: z.int().default(-1).describe('Last generation of the object that was acted on'),
} as const;
