import type { Call } from '../call.ts';
import { VmcpError } from '../errors.ts';
import { isObject, isString, readString, skipSpace, splice, type Span } from '../json-bytes.ts';
import { memberAt, membersOf, type Member } from '../json-members.ts';
import { taskIdOf } from '../task-id.ts';
import { isTaskResult, takesTasks } from '../tasks-extension.ts';

/**
 * A backend's response with the ids of its tasks as our clients know them; everything else is as the backend wrote it. Throws
 * `backend_unavailable` for a task without an id that can be passed on.
 */
export const withOurTaskIds = (
  response: Buffer,
  call: Pick<Call, 'names' | 'method' | 'client'>,
  backend: string,
): Buffer => {
  // Who takes no tasks is given none, which the edge sees to: nothing is to be found here.
  if (call.names !== 'task' && !(call.method === 'tools/call' && takesTasks(call.client.capabilities))) return response;
  const result = memberAt(response, skipSpace(response, 0), 'result');
  if (!result || !isObject(response, result.start)) return response;
  const members = membersOf(response, result.start);
  const isTask = isTaskResult(response, members);
  if (call.names !== 'task' && !isTask) return response;
  if (isTask && !members.some(isTaskId)) throw unusable(backend);
  return renamed(response, members, backend);
};

/** The same for the params of `notifications/tasks` (JSON text of an object). Undefined where the id cannot be passed on. */
export const renamedTask = (params: Buffer, backend: string): Buffer | undefined => {
  try {
    return renamed(params, membersOf(params, 0), backend);
  } catch {
    return undefined;
  }
};

const isTaskId = ({ key }: Pick<Member, 'key'>): boolean => key === 'taskId';

/** Every one, should a member be given twice: nobody knows which of them a client reads. */
const renamed = (bytes: Buffer, members: readonly Member[], backend: string): Buffer =>
  members
    .filter(isTaskId)
    .toReversed()
    .reduce((text, { value }) => splice(text, value, ourId(bytes, value, backend)), bytes);

const ourId = (bytes: Buffer, value: Span, backend: string): Buffer => {
  const id = isString(bytes, value) ? taskIdOf({ backend, ownId: readString(bytes, value) }) : undefined;
  if (id === undefined) throw unusable(backend);
  return Buffer.from(`"${id}"`);
};

const unusable = (backend: string): VmcpError =>
  new VmcpError('backend_unavailable', `backend "${backend}" told of a task under an id that cannot be passed on`);
