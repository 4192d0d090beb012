/** Which task of which backend. */
export interface TaskName {
  readonly backend: string;
  /** As the backend calls it. */
  readonly ownId: string;
}

/** Longest id that is given out, and taken: it travels in a header (`Mcp-Name`), too. */
const MAX_LENGTH = 2_048;

/**
 * The id that clients know a task by. It says by itself where the task is, so that any replica can tell without having seen it before.
 * It is no secret and no proof: who may ask is decided anew for each request. Undefined where the backend's own id is too long for that.
 */
export const taskIdOf = ({ backend, ownId }: TaskName): string | undefined => {
  const id = Buffer.from(JSON.stringify([backend, ownId])).toString('base64url');
  return id.length <= MAX_LENGTH ? id : undefined;
};

/** What `taskIdOf` made. Undefined for everything else, other spellings of the same included. */
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
