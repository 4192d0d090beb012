import type { KubeObject } from '../object.ts';

/** `spec` as somebody wrote it, of whatever kind. */
export type WrittenSpec = Readonly<Record<string, unknown>>;

export const writtenSpec = ({ spec }: KubeObject): WrittenSpec => spec as WrittenSpec;

/**
 * The fields of an object that its own pods act on: how it is authenticated to concerns whoever contacts an MCPServer,
 * and not the server.
 */
export const ownFields = ({ kind }: KubeObject, written: WrittenSpec): WrittenSpec => {
  const { externalAuthConfigRef: _ofOthers, ...own } = written;
  return kind === 'MCPServer' ? own : written;
};
