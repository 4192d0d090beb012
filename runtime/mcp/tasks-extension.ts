import { isObject, memberAt, isText } from '../json/index.ts';

/** The extension for tasks (2026-07-28): a tool may answer with a task, whose result the client requests later. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** Notification about a task, on streams of `subscriptions/listen`. */
export const TASK_NOTIFICATION = 'notifications/tasks';

/** Whether these client capabilities (JSON text of an object) include the tasks extension. */
export const supportsTasks = (capabilities: Buffer): boolean => {
  const extensions = memberAt(capabilities, 0, 'extensions');
  if (!extensions || !isObject(capabilities, extensions.start)) return false;
  const tasks = memberAt(capabilities, extensions.start, TASKS_EXTENSION);
  return tasks !== undefined && isObject(capabilities, tasks.start);
};

/** Whether a member of a result is `resultType` with the value `task`. */
export const isTaskType = (bytes: Buffer, keyAt: number, valueAt: number): boolean =>
  isText(bytes, keyAt, 'resultType') && isText(bytes, valueAt, 'task');
