import type { KubeObject } from '../object.ts';

/** `spec` as the user wrote it, of any kind. */
export type WrittenSpec = Readonly<Record<string, unknown>>;

export const writtenSpec = ({ spec }: KubeObject): WrittenSpec => spec as WrittenSpec;
