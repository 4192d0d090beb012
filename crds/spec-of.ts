import type * as z from 'zod';
import type { AsWritten } from '../runtime/config/index.ts';
import type { kinds } from './kinds.ts';

/** An object as JSON. */
type Fields = Readonly<Record<string, unknown>>;

/** Every kind of ours. */
export type Kind = keyof typeof kinds;

/**
 * `spec` of a kind, as its schema has it: JSON, with durations as text. A field with a default may be missing: accepted
 * specs are kept, and the CRD may have got the field since.
 */
export type SpecOf<K extends Kind> = AsWritten<z.input<(typeof kinds)[K]['spec']>>;

/** The same with the defaults of the API server; for kinds without durations, which would be numbers here. */
export type StoredSpecOf<K extends Kind> = AsWritten<z.output<(typeof kinds)[K]['spec']>>;

/** `status` of a kind, likewise. */
export type StatusOf<K extends Kind> = AsWritten<z.input<(typeof kinds)[K]['status']>>;

/** `spec` of an object that the API server, or `parseResource`, has checked against the schema; not checked again. */
export const specOf = <K extends Kind>(_kind: K, { spec }: Fields): SpecOf<K> => spec as SpecOf<K>;

/** The same of an object whose defaults have been filled in. */
export const storedSpecOf = <K extends Kind>(_kind: K, { spec }: Fields): StoredSpecOf<K> => spec as StoredSpecOf<K>;

/** `status` of such an object; empty before the first status is written. */
export const statusIn = <K extends Kind>(_kind: K, { status }: Fields): Partial<StatusOf<K>> => status ?? {};

/** Fields that any of several kinds has; which kind an object is of decides which are there. */
export type FieldsOf<K extends Kind> = {
  readonly [Field in KeyOfAny<SpecOf<K>>]?: ValueIn<SpecOf<K>, Field>;
};

type KeyOfAny<T> = T extends unknown ? keyof T : never;
type ValueIn<T, Field extends PropertyKey> = T extends unknown
  ? Field extends keyof T
    ? Exclude<T[Field], undefined>
    : never
  : never;

/** `specOf` for an object that is of one of these kinds. */
export const fieldsOf = <K extends Kind>(_kinds: readonly K[], { spec }: Fields): FieldsOf<K> => spec ?? {};
