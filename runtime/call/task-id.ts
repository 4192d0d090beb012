/** A task and its backend. */
export interface TaskName {
  readonly backend: string;
  /** The backend's own id of the task. */
  readonly ownId: string;
}

/** Longest id that is issued and accepted, since it is sent in a header (`Mcp-Name`), too. */
const MAX_LENGTH = 2_048;

/**
 * The id of a task for clients. It contains the backend's name, so that any replica can route it. It is no secret and
 * no proof: each request is authorized anew. Undefined where the backend's own id is too long for that.
 */
export const taskIdOf = ({ backend, ownId }: TaskName): string | undefined => {
  const id = Buffer.from(JSON.stringify([backend, ownId])).toString('base64url');
  return id.length <= MAX_LENGTH ? id : undefined;
};

/** Decodes an id made by `taskIdOf`. Undefined for everything else, including other spellings of the same id. */
export const readTaskId = (id: string): TaskName | undefined => {
  if (id.length > MAX_LENGTH) return undefined;
  const name = pairIn(Buffer.from(id, 'base64url').toString());
  return name && taskIdOf(name) === id ? name : undefined;
};

const pairIn = (text: string): TaskName | undefined => {
  try {
    const pair: unknown = JSON.parse(text);
    if (!Array.isArray(pair) || pair.length !== 2) return undefined;
    const [backend, ownId] = pair as readonly unknown[];
    return typeof backend === 'string' && typeof ownId === 'string' ? { backend, ownId } : undefined;
  } catch {
    return undefined;
  }
};
