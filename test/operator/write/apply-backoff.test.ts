import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../../operator/api/errors.ts';
import { type KubeObject, keyOf } from '../../../operator/object.ts';
import { conditionsIn } from '../../../operator/plan/conditions.ts';
import { objectsSource } from '../../../operator/read/source.ts';
import { type Reconciled, reconcile } from '../../../operator/reconcile.ts';
import { ApplyBackoff } from '../../../operator/write/apply-backoff.ts';
import { applyChildren } from '../../../operator/write/apply.ts';
import { ServerMutations } from '../../../operator/write/server-mutations.ts';
import { problemConditions, withProblems, withStalled } from '../../../operator/write/status.ts';
import { reconcileContextOf } from '../reconcile-context-of.ts';
import { withApplyNew } from './apply-new.ts';

const owner: KubeObject = { apiVersion: 'v1', kind: 'Owner', metadata: { name: 'o', namespace: 'n', uid: 'u' } };
const child = (kind: string): KubeObject => ({ apiVersion: 'v1', kind, metadata: { name: 'x', namespace: 'n' } });
const planned = {
  phase: 'Ready',
  servers: ['a', 'b'],
  conditions: [{ type: 'Ready', status: 'True', reason: 'Serving', message: 'serving' }],
} as const;

interface Outcome {
  readonly reconciled: Reconciled | undefined;
  readonly thrown: unknown;
  /** Every status that was sent. */
  readonly sent: readonly Readonly<Record<string, unknown>>[];
  readonly refused: readonly Error[];
}

/** A reconcile where the API server answers `refusal` to the ConfigMap, and `ofStatus` to a status. */
const reconciled = async (refusal: ApiError | undefined, ofStatus?: (sent: object) => unknown): Promise<Outcome> => {
  const sent: Readonly<Record<string, unknown>>[] = [];
  const refused: Error[] = [];
  const context = reconcileContextOf({
    source: objectsSource([]),
    podsOf: () => [],
    forget: () => {},
    record: () => Promise.resolve(),
    onStatusRefused: (_, error) => refused.push(error),
    cache: { get: ({ kind }) => (kind === 'Owner' ? owner : undefined), put: () => {}, controlledBy: () => [] },
    api: {
      get: () => Promise.resolve(undefined),
      apply: (object) => (object.kind === 'ConfigMap' && refusal ? Promise.reject(refusal) : Promise.resolve(object)),
      applyStatus: (object) => {
        sent.push(object['status'] as (typeof sent)[number]);
        const error = ofStatus?.(object['status'] as object);
        return error instanceof ApiError ? Promise.reject(error) : Promise.resolve(object);
      },
    },
  });
  const kind = {
    kind: 'Owner',
    owns: [],
    reads: [],
    resolve: () => ({}),
    plan: () => ({ objects: [child('ConfigMap'), child('Service')], status: planned, events: [] }),
    affectedBy: () => [],
  };
  const key = { kind: 'Owner', namespace: 'n', name: 'o' };
  const [outcome] = await Promise.allSettled([reconcile(kind, key, context, { signal: new AbortController().signal })]);
  return outcome.status === 'fulfilled'
    ? { reconciled: outcome.value, thrown: undefined, sent, refused }
    : { reconciled: undefined, thrown: outcome.reason, sent, refused };
};

const told = (status: unknown, type: string) => conditionsIn(status).find((each) => each.type === type);

const tooLong = { reason: 'FieldValueTooLong', message: 'Too long: may not be more than 1048576 bytes', field: '' };

for (const [what, error] of Object.entries({
  'the API server’s limit': new ApiError(413, {
    reason: 'RequestEntityTooLarge',
    message: 'Request entity too large: limit is 3145728',
  }),
  'what etcd takes': new ApiError(500, { message: 'etcdserver: request is too large' }),
  'what is sent to etcd': new ApiError(500, {
    message: 'rpc error: code = ResourceExhausted desc = trying to send message larger than max (2309938 vs. 2097152)',
  }),
  'what a ConfigMap holds': new ApiError(422, {
    reason: 'Invalid',
    message: 'ConfigMap "x" is invalid: : Too long: may not be more than 1048576 bytes',
    details: { causes: [tooLong] },
  }),
})) {
  test(`a child beyond ${what} is reported with a remedy, and not looked at again until something changes`, async () => {
    const { reconciled: done, sent } = await reconciled(error);
    const refusal = told(sent[0], 'ChildRefused');
    assert.equal(refusal?.reason, 'TooLarge');
    assert.match(refusal.message, /^ConfigMap\/n\/x is too large; name fewer backends, or shorten .*\(.*\)$/);
    assert.equal(told(sent[0], 'Stalled')?.reason, 'ChildRefused');
    assert.deepEqual(done, { isRefused: true });
  });
}

test('a child that is too large is sent again when its owner, what is rendered of it or what the cluster has of it changes, and else not', async () => {
  const too = new ApiError(413, { reason: 'RequestEntityTooLarge', message: 'Request entity too large' });
  const applyBackoff = new ApplyBackoff(() => 0);
  let [ownerNow, rendered, live] = [owner, child('ConfigMap'), undefined as KubeObject | undefined];
  let sent = 0;
  const attempt = async (): Promise<readonly [number, string | undefined]> => {
    sent = 0;
    const deps = {
      api: withApplyNew({
        get: () => Promise.resolve(live),
        apply: () => {
          sent += 1;
          return Promise.reject(too);
        },
        mergePatch: () => assert.fail(),
        remove: () => assert.fail(),
      }),
      cache: { get: () => live, put: () => {}, fill: () => {}, controlledBy: () => [] },
      serverMutations: new ServerMutations(),
      applyBackoff,
    };
    const { problems } = await applyChildren(ownerNow, [rendered], deps, new AbortController().signal);
    return [sent, problems[0]?.reason];
  };
  const [again, not] = [
    [1, 'TooLarge'],
    [0, 'TooLarge'],
  ] as const;
  assert.deepEqual([await attempt(), await attempt()], [again, not]);
  ownerNow = { ...owner, metadata: { ...owner.metadata, generation: 2 } };
  assert.deepEqual([await attempt(), await attempt()], [again, not]);
  rendered = { ...rendered, data: { a: 'b' } };
  assert.deepEqual([await attempt(), await attempt()], [again, not]);
  const { uid = '' } = owner.metadata;
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Owner', name: 'o', uid, controller: true }];
  live = { ...rendered, metadata: { ...rendered.metadata, uid: 'c', resourceVersion: '7', ownerReferences } };
  delete (live as { data?: unknown }).data;
  assert.deepEqual([await attempt(), await attempt()], [again, not]);
  live = { ...live, metadata: { ...live.metadata, resourceVersion: '8' } };
  assert.deepEqual([await attempt(), await attempt()], [again, not]);
  applyBackoff.forget(uid);
  assert.deepEqual(await attempt(), again);
});

test('a child that met with a fault is told as well, and tried again as what may pass', async () => {
  const fault = new ApiError(500, { reason: 'InternalError', message: 'failed calling webhook "w"' });
  const { thrown, sent } = await reconciled(fault);
  assert.equal(thrown, fault);
  assert.deepEqual([told(sent[0], 'ChildRefused')?.reason, sent[0]?.['phase']], ['InternalError', 'Degraded']);
  assert.equal(told(sent[0], 'Stalled'), undefined);
});

test('a child that collided with a change waits for that, and nothing is reported of it', async () => {
  const conflict = new ApiError(409, { reason: 'Conflict', message: 'uid mismatch' });
  const { thrown, sent } = await reconciled(conflict);
  assert.deepEqual([thrown, sent], [conflict, []]);
});

test('a status that the API server finds too large is written without its lists', async () => {
  const unsent = new ApiError(500, { message: 'etcdserver: request is too large' });
  const {
    reconciled: done,
    sent,
    refused,
  } = await reconciled(undefined, (status) => (told(status, 'StatusShortened') === undefined ? unsent : undefined));
  assert.deepEqual(
    sent.map(({ servers }) => servers),
    [['a', 'b'], []],
  );
  assert.match(told(sent[1], 'StatusShortened')?.message ?? '', /^status.servers names 0 of 2/);
  assert.deepEqual([done, refused], [{ isRefused: false }, []]);
});

test('one that is too large even so is in the log, and tried again in a minute', async () => {
  const unsent = new ApiError(413, { reason: 'RequestEntityTooLarge', message: 'Request entity too large' });
  const { reconciled: done, sent, refused } = await reconciled(undefined, () => unsent);
  assert.deepEqual([done, sent.length, refused], [{ isRefused: true, requeueAfterMs: 60_000 }, 2, [unsent]]);
});

test('however much the API server says, no message is longer than one may be', () => {
  const problem = {
    type: 'ChildRefused',
    reason: 'Invalid',
    message: `${'x'.repeat(32_766)}${'😀'.repeat(9)}`,
    child: { kind: 'ConfigMap', namespace: 'n', name: 'x' },
    isStuck: true,
  } as const;
  const before = { phase: 'Failed', message: 'y'.repeat(30_000), conditions: planned.conditions };
  const status = withStalled(withProblems(before, [problem]), [problem]);
  const messages = conditionsIn(status).map(({ message }) => message);
  for (const message of [...messages, String(status['message'])]) {
    assert.equal(message.length, 32_768);
    assert.ok(message.isWellFormed(), 'it is stored as it was sent');
  }
  assert.deepEqual(messages.length, 3);
  assert.equal(problemConditions([problem])[0]?.message.length, 32_768);
});

test('a child that was not answered is sent again after ten minutes, then after twice that, up to an hour', () => {
  let nowMs = 0;
  const applyBackoff = new ApplyBackoff(() => nowMs);
  const meeting = { owner, child: child('Deployment'), existing: undefined };
  const problem = {
    type: 'ChildRefused',
    reason: 'Unanswered',
    message: 'no answer',
    isStuck: true,
    child: keyOf(meeting.child),
  } as const;
  const { uid = '' } = owner.metadata;
  for (const minutes of [10, 20, 40, 60, 60]) {
    applyBackoff.record(meeting, problem);
    assert.equal(applyBackoff.requeueAfterMs(uid, [problem.child]), minutes * 60_000);
    nowMs += minutes * 60_000 - 1;
    assert.equal(applyBackoff.find(meeting), problem);
    nowMs += 1;
    assert.equal(applyBackoff.find(meeting), undefined);
  }
  const tooLarge = { ...problem, reason: 'TooLarge' } as const;
  applyBackoff.record(meeting, tooLarge);
  assert.equal(applyBackoff.requeueAfterMs(uid, [problem.child]), undefined);
  nowMs += 1e9;
  assert.equal(applyBackoff.find(meeting), tooLarge);
});

test('a status that changes is no reason to send again what was not answered', () => {
  const applyBackoff = new ApplyBackoff(() => 0);
  const known = (resourceVersion: string, generation: number) => ({
    owner,
    child: child('Deployment'),
    existing: {
      ...child('Deployment'),
      metadata: { ...child('Deployment').metadata, uid: 'c', resourceVersion, generation },
    },
  });
  const problem = {
    type: 'ChildRefused',
    reason: 'Unanswered',
    message: 'no answer',
    isStuck: true,
    child: keyOf(child('Deployment')),
  } as const;
  applyBackoff.record(known('1', 1), problem);
  assert.equal(applyBackoff.find(known('2', 1)), problem);
  assert.equal(applyBackoff.find(known('3', 2)), undefined);
});
