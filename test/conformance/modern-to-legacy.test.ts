import { describeCell } from './cells.ts';

/** Not ours: what such a server would have to do cannot be done in its place. */
const TASKS = 'a server up to 2025-11-25 does not have the extension for tasks of 2026-07-28';

await describeCell({
  client: '2026-07-28',
  backend: 'legacy',
  except: {
    'tasks-lifecycle': TASKS,
    'tasks-capability-negotiation': TASKS,
    'tasks-wire-fields': TASKS,
    'tasks-request-state-removal': TASKS,
    'tasks-mrtr-input': TASKS,
    'tasks-request-headers': TASKS,
    'tasks-dispatch-and-envelope': TASKS,
    'tasks-required-task-error': TASKS,
    'tasks-mrtr-composition': TASKS,
  },
});
