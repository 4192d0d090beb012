import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { covers } from '../requirements.ts';
import type { ApiServer } from './api-server.ts';
import { startApiServer } from './api-server.ts';
import { casesOf, manifestOf } from './case.ts';

let api: ApiServer;
before(async () => {
  api = await startApiServer();
  for (const kind of ['VirtualMCPServer', 'MCPExternalAuthConfig']) {
    const manifest = manifestOf(casesOf(kind).accepts({}));
    await api.kubectl(['create', '--filename', '-'], JSON.stringify(manifest));
  }
});
after(() => api.stop());

interface StatusCase {
  readonly kind?: string;
  readonly status: Readonly<Record<string, unknown>>;
  /** Absent: accepted. */
  readonly at?: string;
  readonly words?: string;
}

const accepts = (status: StatusCase['status'], kind?: string): StatusCase => ({
  status,
  ...(kind === undefined ? {} : { kind }),
});
const refuses = (status: StatusCase['status'], at: string, words: string, kind?: string): StatusCase => ({
  ...accepts(status, kind),
  at,
  words,
});

const run = (cases: readonly StatusCase[]): void => {
  for (const { kind = 'VirtualMCPServer', status, at, words = '' } of cases) {
    const text = JSON.stringify(status).slice(0, 120);
    test(`a status of ${kind} with ${text} is ${at === undefined ? 'accepted' : `refused at ${at}`}`, async () => {
      const answer = await api.writeStatus(kind, 'sample', status);
      if (at === undefined) {
        assert.equal(answer.status, 200, answer.message);
        return;
      }
      const found = answer.causes.filter(({ field }) => field === at).map(({ message }) => message);
      assert.ok(
        found.some((message) => message.includes(words)),
        answer.message,
      );
    });
  }
};

covers('status.phase.enum');
run([
  ...['Pending', 'Ready', 'Degraded', 'Failed'].map((phase) => accepts({ phase })),
  refuses({ phase: 'Running' }, 'status.phase', 'Unsupported value'),
]);

const ready = {
  type: 'Ready',
  status: 'True',
  reason: 'Serving',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
};
const condition = (changes: Readonly<Record<string, unknown>>) => ({ conditions: [{ ...ready, ...changes }] });
const AT = 'status.conditions[0]';

covers(
  'status.condition.type-format',
  'status.condition.type-max-length',
  'status.condition.status-enum',
  'status.condition.reason-format',
  'status.condition.reason-length',
  'status.condition.message-max-length',
  'status.condition.message-may-be-empty',
  'status.condition.last-transition-time',
  'status.condition.observed-generation',
);
run(
  ['VirtualMCPServer', 'MCPExternalAuthConfig'].flatMap((kind) => [
    accepts(condition({}), kind),
    accepts(condition({ type: 'vmcp.dev/GroupReady' }), kind),
    refuses(condition({ type: 'not ready' }), `${AT}.type`, 'should match', kind),
    refuses(condition({ type: 'ready' }), `${AT}.type`, 'should match', kind),
    accepts(condition({ type: `R${'a'.repeat(315)}` }), kind),
    refuses(condition({ type: `R${'a'.repeat(316)}` }), `${AT}.type`, 'more than 316', kind),
    refuses(condition({ status: 'Maybe' }), `${AT}.status`, 'Unsupported value', kind),
    refuses(condition({ reason: 'not one word' }), `${AT}.reason`, 'should match', kind),
    refuses(condition({ reason: '' }), `${AT}.reason`, 'at least 1 chars', kind),
    accepts(condition({ reason: `R${'a'.repeat(1023)}` }), kind),
    refuses(condition({ reason: `R${'a'.repeat(1024)}` }), `${AT}.reason`, 'more than 1024', kind),
    accepts(condition({ message: 'a'.repeat(32_768) }), kind),
    refuses(condition({ message: 'a'.repeat(32_769) }), `${AT}.message`, 'more than 32768', kind),
    refuses(condition({ lastTransitionTime: undefined }), `${AT}.lastTransitionTime`, 'Required value', kind),
    refuses(condition({ lastTransitionTime: 'yesterday' }), `${AT}.lastTransitionTime`, 'date-time', kind),
    accepts(condition({ observedGeneration: 3 }), kind),
    refuses(condition({ observedGeneration: -1 }), `${AT}.observedGeneration`, 'greater than or equal to 0', kind),
    refuses({ conditions: [ready, ready] }, 'status.conditions[1]', 'Duplicate value', kind),
  ]),
);

const backend = (changes: Readonly<Record<string, unknown>>) => ({
  discoveredBackends: [{ name: 'github', ...changes }],
});
const BACKEND = 'status.discoveredBackends[0]';

covers('status.discovered.status-values', 'status.discovered.circuit-state-enum');
run([
  ...['ready', 'degraded', 'unavailable', 'unauthenticated', 'unknown'].map((status) => accepts(backend({ status }))),
  refuses(backend({ status: 'broken' }), `${BACKEND}.status`, 'Unsupported value'),
  ...['closed', 'open', 'half-open', ''].map((circuitBreakerState) => accepts(backend({ circuitBreakerState }))),
  refuses(backend({ circuitBreakerState: 'ajar' }), `${BACKEND}.circuitBreakerState`, 'Unsupported value'),
  refuses(backend({ name: undefined }), `${BACKEND}.name`, 'Required value'),
  refuses(backend({ lastHealthCheck: 'soon' }), `${BACKEND}.lastHealthCheck`, 'date-time'),
  accepts(
    backend({
      lastHealthCheck: '2026-01-01T00:00:00.5Z',
      consecutiveFailures: 2,
      circuitLastChanged: '2026-01-01T00:00:00Z',
    }),
  ),
]);

const workload = (changes: Readonly<Record<string, unknown>>) => ({
  referenceCount: 1,
  configHash: 'abc',
  referencingWorkloads: [{ kind: 'MCPServer', name: 'github', ...changes }],
});
const WORKLOAD = 'status.referencingWorkloads[0]';

covers('extauth.status.referencing-workloads.kind-enum', 'extauth.status.referencing-workloads.name');
run(
  [
    ...['MCPServer', 'VirtualMCPServer', 'MCPRemoteProxy'].map((kind) => accepts(workload({ kind }))),
    refuses(workload({ kind: 'MCPServerEntry' }), `${WORKLOAD}.kind`, 'Unsupported value'),
    refuses(workload({ kind: undefined }), `${WORKLOAD}.kind`, 'Required value'),
    refuses(workload({ name: undefined }), `${WORKLOAD}.name`, 'Required value'),
    refuses(workload({ name: '' }), `${WORKLOAD}.name`, 'at least 1 chars'),
  ].map((each) => ({ ...each, kind: 'MCPExternalAuthConfig' })),
);
