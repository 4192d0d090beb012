import { type Call, taskIdOf } from '../../call/index.ts';
import { VmcpError } from '../../errors.ts';
import {
  isObject,
  isString,
  readString,
  skipSpace,
  skipValue,
  splice,
  walkObject,
  type Span,
  memberAt,
  isText,
} from '../../json/index.ts';
import { isTaskType, supportsTasks } from '../../mcp/index.ts';

/**
 * A backend's response with the ids of its tasks as our clients know them; everything else is as the backend wrote it.
 * Throws `backend_unavailable` for a task without an id that can be passed on.
 */
export const withOurTaskIds = (
  response: Buffer,
  call: Pick<Call, 'names' | 'method' | 'client'>,
  backend: string,
): Buffer => {
  // For a client without the tasks extension the edge refuses tasks: the response need not be searched.
  if (call.names !== 'task' && !(call.method === 'tools/call' && supportsTasks(call.client.capabilities)))
    return response;
  const result = memberAt(response, skipSpace(response, 0), 'result');
  if (!result || !isObject(response, result.start)) return response;
  const { isTask, id } = readTask(response, result.start, backend);
  if (call.names !== 'task' && !isTask) return response;
  if (isTask && !id) throw invalidTask(backend);
  return id ? splice(response, id, ourId(response, id, backend)) : response;
};

/**
 * The same for the params of `notifications/tasks` (JSON text of an object). Undefined where the id cannot be passed
 * on.
 */
export const renamedTask = (params: Buffer, backend: string): Buffer | undefined => {
  try {
    const { id } = readTask(params, 0, backend);
    return id ? splice(params, id, ourId(params, id, backend)) : params;
  } catch {
    return undefined;
  }
};

/** Throws `backend_unavailable` for what names its task twice: clients differ in which one they read. */
const readTask = (bytes: Buffer, at: number, backend: string): { isTask: boolean; id: Span | undefined } => {
  const read: { isTask: boolean; id: Span | undefined; isTwice: boolean } = {
    isTask: false,
    id: undefined,
    isTwice: false,
  };
  walkObject(bytes, at, (keyAt, _keyEnd, start) => {
    const end = skipValue(bytes, start);
    if (isTaskType(bytes, keyAt, start)) read.isTask = true;
    if (isText(bytes, keyAt, 'taskId')) {
      if (read.id) read.isTwice = true;
      read.id = { start, end };
    }
    return end;
  });
  if (read.isTwice) throw invalidTask(backend);
  return read;
};

const ourId = (bytes: Buffer, value: Span, backend: string): Buffer => {
  const id = isString(bytes, value) ? taskIdOf({ backend, ownId: readString(bytes, value) }) : undefined;
  if (id === undefined) throw invalidTask(backend);
  return Buffer.from(`"${id}"`);
};

const invalidTask = (backend: string): VmcpError =>
  new VmcpError('backend_unavailable', `backend "${backend}" told of a task under an id that cannot be passed on`);
