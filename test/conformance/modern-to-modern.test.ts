import { describeCell } from './cells.ts';

const TASKS = 'waits for the extension for tasks';

await describeCell({
  client: '2026-07-28',
  backend: 'modern',
  except: {
    'tasks-lifecycle': TASKS,
    'tasks-capability-negotiation': TASKS,
    'tasks-wire-fields': TASKS,
    'tasks-request-state-removal': TASKS,
    'tasks-mrtr-input': TASKS,
    'tasks-request-headers': TASKS,
    'tasks-dispatch-and-envelope': TASKS,
    'tasks-mrtr-composition': TASKS,
  },
});
