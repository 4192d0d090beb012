import { describeCell } from './cells.ts';

/** Not ours: what such a server would have to do cannot be done in its place. */
const ROUNDS =
  'a server up to 2025-11-25 asks in the middle of a call; only a server that can end the call and be called again could ask a client of 2026-07-28';
const REFUSES = 'a server up to 2025-11-25 refuses what its client cannot do in words of its own';
const TASKS = 'a server up to 2025-11-25 does not have the extension for tasks of 2026-07-28';

await describeCell({
  client: '2026-07-28',
  backend: 'legacy',
  except: {
    'server-stateless:sep-2575-server-rejects-undeclared-capability': REFUSES,
    'server-stateless:sep-2575-missing-capability-http-400': REFUSES,
    'server-stateless:sep-2575-http-server-no-independent-requests-on-stream': REFUSES,
    'input-required-result-basic-elicitation': ROUNDS,
    'input-required-result-basic-sampling': ROUNDS,
    'input-required-result-basic-list-roots': ROUNDS,
    'input-required-result-request-state': ROUNDS,
    'input-required-result-multiple-input-requests': ROUNDS,
    'input-required-result-multi-round': ROUNDS,
    'input-required-result-missing-input-response': ROUNDS,
    'input-required-result-non-tool-request': ROUNDS,
    'input-required-result-result-type': ROUNDS,
    'input-required-result-tampered-state': ROUNDS,
    'input-required-result-capability-check': ROUNDS,
    'input-required-result-ignore-extra-params': ROUNDS,
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
