import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../../operator/api/errors.ts';
import type { KubeObject } from '../../../operator/object.ts';
import { WITHOUT_DEGRADED } from '../../../operator/plan/plan.ts';
import { volatileStatus } from '../../../operator/plan/server/plan-server.ts';
import { retryAfterMs } from '../../../operator/write/retry.ts';
import { StatusWriteHistory } from '../../../operator/write/status-write-history.ts';
import {
  type ReportDeps,
  type Reported,
  reportStatus,
  withProblems,
  withTransitionTimes,
} from '../../../operator/write/status.ts';
import { covers } from '../../requirements.ts';
import { server } from '../plan/plan-of-demo.ts';

const now = Date.parse('2026-11-20T12:00:00Z');
const minutes = 60_000;

const condition = (type: string, status: 'True' | 'False', reason = 'Because') => ({
  type,
  status,
  reason,
  message: 'm',
});

/** The object as the server keeps it after `status` was applied at `writtenAt`. */
const reportedAs = (status: Readonly<Record<string, unknown>>, writtenAt: number): KubeObject => {
  const owner = {
    apiVersion: 'v1',
    kind: 'Widget',
    metadata: { name: 'w', namespace: 'here', uid: 'u', generation: 3 },
  };
  const stored = withTransitionTimes(status, owner, writtenAt);
  const entry = {
    manager: 'vmcp-operator',
    operation: 'Apply' as const,
    subresource: 'status',
    time: new Date(writtenAt).toISOString(),
    fieldsV1: { 'f:status': owned(stored) },
  };
  return { ...owner, metadata: { ...owner.metadata, managedFields: [entry] }, status: stored };
};

/** The `fieldsV1` of a status whose lists are keyed by type or name. */
const owned = (value: unknown): Record<string, unknown> => {
  if (Array.isArray(value)) {
    const keyed = value as readonly Record<string, unknown>[];
    return Object.fromEntries(
      keyed.map((item) => {
        const key = 'type' in item ? 'type' : 'name';
        return [`k:${JSON.stringify({ [key]: item[key] })}`, { '.': {}, ...owned(item) }];
      }),
    );
  }
  return typeof value === 'object' && value !== null
    ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [`f:${key}`, owned(inner)]))
    : {};
};

interface Outcome extends Reported {
  readonly sent: KubeObject | undefined;
}

const VOLATILE = volatileStatus(server());

const report = async (
  owner: KubeObject,
  status: Readonly<Record<string, unknown>>,
  nowMs: number,
  statusWrites: ReportDeps['statusWrites'] = { ageMs: () => 0, pauseMs: () => 0, recordWrite: () => {} },
): Promise<Outcome> => {
  const sent: KubeObject[] = [];
  const applyStatus = (object: KubeObject): Promise<KubeObject> => {
    sent.push(object);
    return Promise.resolve(object);
  };
  const deps = { api: { applyStatus }, cache: { put: () => {} }, nowMs, statusWrites };
  const planned = { status, volatile: VOLATILE };
  return { ...(await reportStatus(owner, planned, deps, new AbortController().signal)), sent: sent[0] };
};

covers('status.condition.last-transition-time');
test('a condition keeps the time of its last transition while its status stays, whatever its reason', () => {
  const owner = reportedAs({ conditions: [condition('A', 'True'), condition('B', 'True')] }, now - minutes);
  const { conditions } = withTransitionTimes(
    { conditions: [condition('A', 'True', 'Other'), condition('B', 'False')] },
    owner,
    now,
  ) as {
    conditions: readonly { readonly lastTransitionTime: string }[];
  };
  assert.deepEqual(
    conditions.map(({ lastTransitionTime }) => lastTransitionTime),
    ['2026-11-20T11:59:00Z', '2026-11-20T12:00:00Z'],
  );
});

covers('status.observed-generation');
test('status and conditions say which generation they are about', () => {
  const owner = { apiVersion: 'v1', kind: 'Widget', metadata: { name: 'w', generation: 7 } };
  const status = withTransitionTimes({ conditions: [condition('A', 'True')] }, owner, now);
  assert.equal(status['observedGeneration'], 7);
  assert.equal((status['conditions'] as readonly { readonly observedGeneration: number }[])[0]?.observedGeneration, 7);
});

test('a status that is there already is not sent', async () => {
  const status = { phase: 'Ready', conditions: [condition('A', 'True')] };
  const outcome = await report(reportedAs(status, now - minutes), status, now);
  assert.deepEqual(outcome, { written: false, sent: undefined });
});

test('a status that differs is sent whole, for exactly this object', async () => {
  const outcome = await report(reportedAs({ phase: 'Pending' }, now - minutes), { phase: 'Ready' }, now);
  assert.equal(outcome.written, true);
  assert.equal(outcome.sent?.metadata.uid, 'u');
  assert.deepEqual(outcome.sent?.['status'], { phase: 'Ready', conditions: [], observedGeneration: 3 });
});

test('a status that the server refuses is a value and not a fault: sending it again at once would not help', async () => {
  for (const [status, isValue] of [
    [400, true],
    [403, true],
    [422, true],
    [500, false],
    [409, false],
  ] as const) {
    const error = new ApiError(status, { message: 'status.phase: Unsupported value' });
    const deps = {
      api: { applyStatus: () => Promise.reject(error) },
      cache: { put: () => {} },
      nowMs: now,
      statusWrites: { ageMs: () => 0, pauseMs: () => 0, recordWrite: () => {} },
    };
    const planned = { status: { phase: 'Ready' }, volatile: new Map() };
    const reported = reportStatus(reportedAs({}, now), planned, deps, new AbortController().signal);
    if (isValue) assert.deepEqual(await reported, { written: false, refused: error });
    else await assert.rejects(reported, error);
  }
});

const withCheck = (lastHealthCheck: string, status = 'ready'): Readonly<Record<string, unknown>> => ({
  discoveredBackends: [
    { name: 'a', status, lastHealthCheck },
    { name: 'b', status },
  ],
});

covers('status.discovered.last-health-check');
for (const [clock, skewMs] of [
  ['that is right', 0],
  ['an hour ahead', 60 * minutes],
  ['an hour behind', -60 * minutes],
] as const) {
  test(`a newer timestamp alone waits ten minutes, by a clock ${clock}`, async () => {
    const owner = reportedAs(withCheck('T1'), now);
    let nowMs = now + skewMs;
    const statusWrites = new StatusWriteHistory(() => nowMs);
    statusWrites.observe(owner);
    const reported = (check: string) => report(owner, withCheck(check), nowMs, statusWrites);
    assert.deepEqual(await reported('T1'), { written: false, sent: undefined });
    nowMs += 4 * minutes;
    assert.deepEqual(await reported('T2'), { written: false, requeueAfterMs: 6 * minutes, sent: undefined });
    nowMs += 6 * minutes;
    assert.equal((await reported('T3')).written, true);
  });
}

test('the ten minutes begin anew with every write', () => {
  let nowMs = now;
  const statusWrites = new StatusWriteHistory(() => nowMs);
  const [first, second] = [now, now + 5 * minutes].map((writtenAt) => reportedAs(withCheck('T1'), writtenAt));
  assert.ok(first !== undefined && second !== undefined);
  statusWrites.observe(first);
  nowMs += 5 * minutes;
  statusWrites.observe(first);
  assert.equal(statusWrites.ageMs(first), 5 * minutes);
  statusWrites.observe(second);
  nowMs += minutes;
  assert.equal(statusWrites.ageMs(second), minutes);
  assert.equal(
    statusWrites.ageMs({ ...second, metadata: { name: 'w', uid: 'u' } }),
    Infinity,
    'a status that is not ours',
  );
});

covers('status.discovered.consecutive-failures', 'status.discovered.consecutive-failures-reset');
test('failures in a row are written at once up to the threshold, and their end; beyond it they wait like a timestamp', async () => {
  const failed = (consecutiveFailures: number) => ({
    discoveredBackends: [{ name: 'a', status: 'ready', lastHealthCheck: 'T1', consecutiveFailures }],
  });
  const isWritten = async (before: number, after: number): Promise<boolean> =>
    (await report(reportedAs(failed(before), now), failed(after), now)).written;
  assert.deepEqual(
    await Promise.all([isWritten(0, 1), isWritten(1, 2), isWritten(2, 3), isWritten(3, 4), isWritten(9, 3)]),
    [true, true, true, false, false],
  );
  assert.deepEqual(await Promise.all([isWritten(1, 0), isWritten(4, 0)]), [true, true]);
});

covers('status.discovered.consecutive-failures');
test('the threshold is that of the server', () => {
  const of = (unhealthyThreshold?: number) =>
    volatileStatus(server({ config: { operational: { failureHandling: { unhealthyThreshold } } } }));
  assert.deepEqual(
    [of(), of(5)].map((keys) => keys.get('consecutiveFailures')),
    [3, 5],
  );
  assert.equal(volatileStatus(server()).get('consecutiveFailures'), 3);
});

test('a circuit that a trial has opened again is no reason to write, one in another state is', async () => {
  const withCircuit = (circuitBreakerState: string, circuitLastChanged: string) => ({
    discoveredBackends: [{ name: 'a', circuitBreakerState, circuitLastChanged }],
  });
  const isWritten = async (before: readonly [string, string], after: readonly [string, string]): Promise<boolean> =>
    (await report(reportedAs(withCircuit(...before), now), withCircuit(...after), now)).written;
  assert.equal(await isWritten(['open', 'T1'], ['open', 'T2']), false);
  assert.equal(await isWritten(['open', 'T1'], ['closed', 'T2']), true);
});

covers('status.discovered.last-health-check');
test('a newer timestamp is sent along as soon as something else changed', async () => {
  const owner = reportedAs(withCheck('T1'), now - minutes);
  const outcome = await report(owner, withCheck('T2', 'degraded'), now);
  assert.match(JSON.stringify(outcome.sent?.['status']), /"lastHealthCheck":"T2"/);
});

const service = { kind: 'Service', namespace: 'here', name: 'x' };
const refused = {
  type: 'ChildRefused',
  reason: 'Invalid',
  message: 'Service x: port is wrong',
  child: service,
  isStuck: true,
} as const;
const conflict = (kind: string) =>
  ({
    type: 'ChildConflict',
    reason: 'ChildConflict',
    message: `${kind} x exists already`,
    child: { ...service, kind },
    isStuck: true,
  }) as const;

test('a child that cannot be applied lowers the phase, is named in a condition, and is why Ready is as it is', () => {
  const before = {
    phase: 'Ready',
    message: 'serving',
    conditions: [condition('A', 'True'), condition('Ready', 'True', 'Serving')],
  };
  const status = withProblems(before, [refused]);
  assert.equal(status['phase'], 'Degraded');
  assert.equal(status['message'], refused.message);
  assert.deepEqual(status['conditions'], [
    condition('A', 'True'),
    { type: 'Ready', status: 'True', reason: 'ChildRefused', message: refused.message },
    { type: 'ChildRefused', status: 'True', reason: 'Invalid', message: refused.message },
  ]);
  assert.equal(withProblems({ phase: 'Pending' }, [refused])['phase'], 'Failed');
  assert.equal(withProblems(before, []), before);
});

test('of a kind that has no word for it, what serves stays Ready', () => {
  const phases = ['Ready', 'Pending', 'Stopped', 'Downloading'].map(
    (phase) => withProblems({ phase, message: 'm' }, [refused], WITHOUT_DEGRADED)['phase'],
  );
  assert.deepEqual(phases, ['Ready', 'Failed', 'Failed', 'Failed']);
});

test('what was bad already is written beside it', () => {
  const status = withProblems({ phase: 'Failed', message: 'pods cannot start' }, [refused]);
  assert.deepEqual([status['phase'], status['message']], ['Failed', 'Service x: port is wrong; pods cannot start']);
});

test('all conflicts are reported at once, in one condition', () => {
  const status = withProblems({ phase: 'Ready' }, [conflict('ServiceAccount'), refused, conflict('Deployment')]);
  const conditions = status['conditions'] as readonly { readonly type: string; readonly message: string }[];
  assert.deepEqual(
    conditions.map(({ type, message }) => [type, message]),
    [
      ['ChildConflict', 'ServiceAccount x exists already; Deployment x exists already'],
      ['ChildRefused', 'Service x: port is wrong'],
    ],
  );
});

test('there is no URL while its Service belongs to another owner', () => {
  const before = { phase: 'Ready', url: 'http://x' };
  assert.equal(withProblems(before, [conflict('Service')])['url'], undefined);
  assert.equal(withProblems(before, [refused])['url'], 'http://x');
  assert.equal(withProblems(before, [conflict('ServiceAccount')])['url'], 'http://x');
});

test('what a user must mend is looked at after 5, 10, 20, 40 s and then every minute', () => {
  const after = (seconds: number): number => {
    const status = withTransitionTimes({ conditions: [condition('ChildConflict', 'True')] }, reportedAs({}, now), now);
    return retryAfterMs(status, now + seconds * 1000) / 1000;
  };
  assert.deepEqual([0, 5, 15, 35, 75, 1000].map(after), [5, 10, 20, 40, 60, 60]);
  assert.equal(after(7), 8, 'a look in between changes nothing');
  assert.equal(retryAfterMs({}, now), 5000);
  assert.equal(after(-1), 60, 'the clock that told since when was ahead of ours');
});
