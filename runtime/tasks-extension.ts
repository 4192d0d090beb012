import { isObject } from './json-bytes.ts';
import { memberAt } from './json-members.ts';
import { isText } from './json-text.ts';

/** The extension for tasks (2026-07-28): a tool may answer with a task, which its client asks after later. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** Tells what has become of a task, on streams of `subscriptions/listen`. */
export const TASK_TOLD = 'notifications/tasks';

/** Whether a client that declares these capabilities (JSON text of an object) takes tasks. */
export const takesTasks = (capabilities: Buffer): boolean => {
  const extensions = memberAt(capabilities, 0, 'extensions');
  if (!extensions || !isObject(capabilities, extensions.start)) return false;
  const tasks = memberAt(capabilities, extensions.start, TASKS_EXTENSION);
  return tasks !== undefined && isObject(capabilities, tasks.start);
};

/** Whether a result with this member stands for a task. */
export const tellsTask = (bytes: Buffer, keyAt: number, valueAt: number): boolean =>
  isText(bytes, keyAt, 'resultType') && isText(bytes, valueAt, 'task');
