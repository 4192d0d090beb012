import { responseWith, type WholeReply } from '../call/index.ts';
import { VmcpError } from '../errors.ts';
import { type ListKind, TASKS_EXTENSION } from '../mcp/index.ts';
import { paramValue, type Envelope } from './envelope.ts';

/** Answers that both eras share. */

export interface ServerInfo {
  readonly name: string;
  readonly version: string;
}

/** docs/decisions.md "What initialize says": whatever the backends have today, since they come and go. */
export const CAPABILITIES = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
};

/**
 * 2026-07-28 adds extensions. The tasks extension is declared even where no backend has tasks: then every task id is
 * unknown.
 */
export const MODERN_CAPABILITIES = { ...CAPABILITIES, extensions: { [TASKS_EXTENSION]: {} } };

const LISTS: Readonly<Record<string, ListKind>> = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
};

/** The list that this method requests; undefined for other methods. */
export const listAskedFor = (method: string): ListKind | undefined =>
  Object.hasOwn(LISTS, method) ? LISTS[method] : undefined;

/** `params.cursor`; undefined where it is absent. Throws `invalid_params` when it is no string. */
export const cursorOf = (envelope: Envelope): string | undefined => {
  const cursor = paramValue(envelope, 'cursor');
  if (cursor === undefined || typeof cursor === 'string') return cursor;
  throw new VmcpError('invalid_params', 'params.cursor is not a string');
};

/** JSON text of an empty result. */
export const emptyResult = Buffer.from('{}');

/** The response with this id and result (JSON texts). */
export const answer = (id: Buffer, result: Buffer): WholeReply => ({
  kind: 'whole',
  status: 200,
  body: responseWith(id, result),
});
