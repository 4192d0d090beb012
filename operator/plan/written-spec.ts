import type { KubeObject } from '../object.ts';

/** `spec` as the user wrote it, of any kind. */
export type WrittenSpec = Readonly<Record<string, unknown>>;

export const writtenSpec = ({ spec }: KubeObject): WrittenSpec => spec as WrittenSpec;

/**
 * The fields of an object that its own pods act on: how clients authenticate to an MCPServer concerns those clients
 * only.
 */
export const ownFields = ({ kind }: KubeObject, written: WrittenSpec): WrittenSpec => {
  const { externalAuthConfigRef: _ofOthers, ...own } = written;
  return kind === 'MCPServer' ? own : written;
};
