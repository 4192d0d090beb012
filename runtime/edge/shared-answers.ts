import type { WholeReply } from '../call.ts';
import { VmcpError } from '../errors.ts';
import type { ListKind } from '../listed.ts';
import { TASKS_EXTENSION } from '../tasks-extension.ts';
import { paramValue, type Envelope } from './envelope.ts';

/** What both eras answer alike. */

export interface ServerInfo {
  readonly name: string;
  readonly version: string;
}

/** decisions, "initialize": whatever the backends have today, since they come and go. */
export const CAPABILITIES = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
};

/** 2026-07-28 names extensions beside them. What is said of tasks holds without a backend that has any: none is known then. */
export const MODERN_CAPABILITIES = { ...CAPABILITIES, extensions: { [TASKS_EXTENSION]: {} } };

const LISTS: Readonly<Record<string, ListKind>> = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
};

export const listAskedFor = (method: string): ListKind | undefined =>
  Object.hasOwn(LISTS, method) ? LISTS[method] : undefined;

export const cursorOf = (envelope: Envelope): string | undefined => {
  const cursor = paramValue(envelope, 'cursor');
  if (cursor === undefined || typeof cursor === 'string') return cursor;
  throw new VmcpError('invalid_params', 'params.cursor is not a string');
};

export const emptyResult = Buffer.from('{}');
const beforeId = Buffer.from('{"jsonrpc":"2.0","id":');
const beforeResult = Buffer.from(',"result":');
const afterResult = Buffer.from('}');

/** The response with this id and result (JSON texts). */
export const answer = (id: Buffer, result: Buffer): WholeReply => ({
  kind: 'whole',
  status: 200,
  body: Buffer.concat([beforeId, id, beforeResult, result, afterResult]),
});
