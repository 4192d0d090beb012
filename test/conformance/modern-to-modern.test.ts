import { describeCell } from './cells.ts';

const TASKS = 'waits for the extension for tasks';
const LISTEN = 'waits for subscriptions/listen';
const MODERN_EDGE = 'waits for the whole of 2026-07-28 at the endpoint';

await describeCell({
  client: '2026-07-28',
  backend: 'modern',
  except: {
    'server-stateless:sep-2575-http-server-header-mismatch-400': MODERN_EDGE,
    'server-stateless:sep-2575-server-sends-subscription-ack': LISTEN,
    'server-stateless:sep-2575-server-tags-subscription-id': LISTEN,
    'server-stateless:sep-2575-server-honors-notification-filter': LISTEN,
    'server-stateless:sep-2575-server-sends-prompts-list-changed-on-subscription': LISTEN,
    'server-stateless:sep-2575-server-sends-tools-list-changed-on-subscription': LISTEN,
    'tasks-lifecycle': TASKS,
    'tasks-capability-negotiation': TASKS,
    'tasks-wire-fields': TASKS,
    'tasks-request-state-removal': TASKS,
    'tasks-mrtr-input': TASKS,
    'tasks-request-headers': TASKS,
    'tasks-dispatch-and-envelope': TASKS,
    'tasks-mrtr-composition': TASKS,
    'http-custom-header-server-validation': MODERN_EDGE,
  },
});
