import { createHash } from 'node:crypto';
import type { Access } from './call.ts';

/** A task that a workflow has become. */
export interface WorkflowTaskName {
  readonly workflow: string;
  /** Random, so that only a client that was given the id can name the task. */
  readonly secret: string;
}

/** No id of a task of a backend begins like this, as those are base64url (`taskIdOf`). */
const PREFIX = 'workflow.';

/** Longest name of a workflow (`composite-tools.ts`) is far below; the id is sent in a header (`Mcp-Name`), too. */
const MAX_LENGTH = 2_048;

/** `secret`: 32 characters of base64url. */
export const workflowTaskId = ({ workflow, secret }: WorkflowTaskName): string =>
  `${PREFIX}${secret}.${Buffer.from(workflow).toString('base64url')}`;

/** Decodes an id made by `workflowTaskId`. Undefined for everything else, including other spellings of the same id. */
export const readWorkflowTaskId = (id: string): WorkflowTaskName | undefined => {
  if (id.length > MAX_LENGTH) return undefined;
  const [, secret, encoded] = /^workflow\.(?<secret>[\w-]{32})\.(?<name>[\w-]+)$/.exec(id) ?? [];
  if (secret === undefined || encoded === undefined) return undefined;
  const name = { workflow: Buffer.from(encoded, 'base64url').toString(), secret };
  return workflowTaskId(name) === id ? name : undefined;
};

/**
 * The name of a call for logs and traces. Who knows the id of an anonymous client's task may act on it, so such ids
 * have an image of their secret, which leads nowhere.
 */
export const shownName = ({ names, name }: Pick<Access, 'names' | 'name'>): string =>
  names === 'task' ? name.replace(SECRET, (_all, secret: string) => `${PREFIX}${imageOf(secret)}`) : name;

const SECRET = /^workflow\.([^.]+)/;

const imageOf = (secret: string): string => createHash('sha256').update(secret).digest('hex').slice(0, IMAGE_DIGITS);

const IMAGE_DIGITS = 16;
