/**
 * Words of the Model Context Protocol: its revisions, lists, headers, log levels and the tasks extension. Constants and
 * pure functions; each cites the section of the MCP revision it comes from. Start at `revisions.ts`.
 */

export { canAnswer, neededFor } from './client-capabilities.ts';
export { METHODS_WITH_NAME, decodedHeader, encodedHeader } from './header-text.ts';
export { LIST_CHANGED, LIST_KINDS, type ListKind, type ListedItem, type Lists } from './lists.ts';
export { CLIENT_METHODS } from './methods.ts';
export { LOG_LEVELS, isLogLevel, isSevereEnough } from './log-levels.ts';
export {
  LATEST_LEGACY_REVISION,
  LEGACY_REVISIONS,
  MODERN_REVISION,
  RESERVED_PREFIX,
  isModernError,
} from './revisions.ts';
export { TASKS_EXTENSION, TASK_NOTIFICATION, supportsTasks, isTaskType } from './tasks-extension.ts';
