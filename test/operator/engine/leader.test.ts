import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../../operator/api/errors.ts';
import type { ApiClient } from '../../../operator/api/client.ts';
import { elect } from '../../../operator/engine/leader.ts';
import type { KubeObject } from '../../../operator/object.ts';
import { manualClock } from './manual-clock.ts';
import type { ManualClock } from './manual-clock.ts';

/** One Lease with the API server's optimistic locking. */
const leaseServer = () => {
  let stored: KubeObject | undefined;
  let version = 0;
  const state = { isDown: false };
  const store = (object: KubeObject): KubeObject => {
    version += 1;
    stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
    return stored;
  };
  const answer = <T>(value: () => T): Promise<T> =>
    state.isDown ? Promise.reject(new Error('connect ECONNREFUSED')) : Promise.resolve().then(value);
  const api: Pick<ApiClient, 'get' | 'createOwned' | 'replace'> = {
    get: () => answer(() => stored),
    createOwned: (object) =>
      answer(() => {
        if (stored !== undefined) throw new ApiError(409, { reason: 'AlreadyExists' });
        return store(object);
      }),
    replace: (object) =>
      answer(() => {
        if (stored?.metadata.resourceVersion !== object.metadata.resourceVersion) throw new ApiError(409, {});
        return store(object);
      }),
  };
  return { api, state, spec: () => stored?.['spec'] as Readonly<Record<string, unknown>> | undefined };
};

interface Candidate {
  readonly leads: () => boolean;
  /** How many terms it has begun. */
  readonly terms: () => number;
  readonly stop: () => void;
  readonly ended: Promise<void>;
}

const candidate = (identity: string, api: ReturnType<typeof leaseServer>['api'], clock: ManualClock): Candidate => {
  const stopping = new AbortController();
  let isLeading = false;
  let terms = 0;
  const lead = async (signal: AbortSignal): Promise<void> => {
    isLeading = true;
    terms += 1;
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    isLeading = false;
  };
  const ended = elect(
    { namespace: 'ops', identity },
    { api, clock, now: clock.now, onFailure: () => {} },
    lead,
    stopping.signal,
  );
  return { leads: () => isLeading, terms: () => terms, stop: () => stopping.abort(), ended };
};

test('one of two leads, for as long as it renews', async () => {
  const clock = manualClock();
  const { api } = leaseServer();
  const [a, b] = [candidate('a', api, clock), candidate('b', api, clock)];
  await clock.advance(120_000);
  assert.deepEqual([a.leads(), b.leads()], [true, false]);
  assert.equal(a.terms(), 1);
});

test('a leader that stops gives the lease back, and the other takes it at its next look', async () => {
  const clock = manualClock();
  const { api } = leaseServer();
  const [a, b] = [candidate('a', api, clock), candidate('b', api, clock)];
  await clock.advance(10_000);
  a.stop();
  await clock.advance(0);
  await a.ended;
  await clock.advance(2000);
  assert.deepEqual([a.leads(), b.leads()], [false, true]);
});

/** Leads until it is cut off, whatever it is told before. */
const untilCutOff = async (isLostAfterMs?: number): Promise<number> => {
  const clock = manualClock(0);
  const { api, state } = leaseServer();
  const stopping = new AbortController();
  let cutOffAt = 0;
  const lead = (_ending: AbortSignal, over: AbortSignal): Promise<void> =>
    new Promise((resolve) =>
      over.addEventListener('abort', () => {
        cutOffAt = clock.now();
        resolve();
      }),
    );
  const ended = elect(
    { namespace: 'ops', identity: 'a' },
    { api, clock, now: clock.now, onFailure: () => {} },
    lead,
    stopping.signal,
  );
  await clock.advance(1000);
  state.isDown = isLostAfterMs !== undefined;
  await clock.advance(isLostAfterMs ?? 0);
  stopping.abort();
  await clock.advance(30_000);
  await ended;
  return cutOffAt;
};

test('what is under way at a stop is cut off after 5 s, and before that when the lease ends', async () => {
  assert.equal(await untilCutOff(), 6000);
  // Renewed last at the start, so it ends at 10 s.
  assert.equal(await untilCutOff(7000), 10_000);
});

test('a leader that stops gives the lease back once what was under way is done', async () => {
  const clock = manualClock(0);
  const { api, spec } = leaseServer();
  const stopping = new AbortController();
  const work = Promise.withResolvers<void>();
  let isCutOff = false;
  const lead = async (_ending: AbortSignal, over: AbortSignal): Promise<void> => {
    await work.promise;
    isCutOff = over.aborted;
  };
  const ended = elect(
    { namespace: 'ops', identity: 'a' },
    { api, clock, now: clock.now, onFailure: () => {} },
    lead,
    stopping.signal,
  );
  await clock.advance(1000);
  stopping.abort();
  await clock.advance(4000);
  assert.equal(spec()?.['holderIdentity'], 'a');
  work.resolve();
  await ended;
  assert.deepEqual([spec()?.['holderIdentity'], isCutOff], ['', false]);
});

test('a leader that is gone without a word is replaced within 20 s', async () => {
  const clock = manualClock();
  const lost = leaseServer();
  const gone = { ...lost.api };
  candidate('gone', gone, clock);
  await clock.advance(5000);
  Object.assign(gone, { get: () => new Promise(() => {}), replace: () => new Promise(() => {}) });
  const b = candidate('b', lost.api, clock);
  await clock.advance(14_000);
  assert.equal(b.leads(), false);
  await clock.advance(6000);
  assert.equal(b.leads(), true);
});

test('a leader that cannot renew stops leading before another may take over', async () => {
  const clock = manualClock();
  const { api, state } = leaseServer();
  const a = candidate('a', api, clock);
  await clock.advance(4000);
  state.isDown = true;
  await clock.advance(9000);
  assert.equal(a.leads(), true);
  await clock.advance(4000);
  assert.equal(a.leads(), false);
  state.isDown = false;
  await clock.advance(4000);
  assert.deepEqual([a.leads(), a.terms()], [true, 2]);
});

test('a leader that stood still knows by the clock that its lease has run out, before any timer tells it', async () => {
  const clock = manualClock();
  const { api } = leaseServer();
  let now = 0;
  let isHeldNow = (): boolean => false;
  const lead = (ending: AbortSignal, _over: AbortSignal, isHeld: () => boolean): Promise<void> => {
    isHeldNow = isHeld;
    return new Promise((resolve) => ending.addEventListener('abort', () => resolve(), { once: true }));
  };
  const stopped = { ...clock, now: () => now };
  const deps = { api, clock: stopped, now: stopped.now, onFailure: () => {} };
  void elect({ namespace: 'ops', identity: 'a' }, deps, lead, new AbortController().signal);
  await clock.advance(0);
  assert.equal(isHeldNow(), true);
  now = 9_999;
  assert.equal(isHeldNow(), true);
  now = 10_000;
  assert.equal(isHeldNow(), false);
});

test('an answer that comes late does not stretch a term: the lease counts from the question', async () => {
  const clock = manualClock();
  const { api } = leaseServer();
  const late = { ...api };
  const a = candidate('a', late, clock);
  await clock.advance(1000);
  const after = (ms: number): Promise<void> => new Promise((resolve) => void clock.after(ms, () => resolve()));
  // The renewal of the second second is done at once and answered in the ninth; then nothing is.
  late.replace = async (object) => {
    const renewed = await api.replace(object, new AbortController().signal);
    await after(7000);
    late.replace = () => new Promise(() => {});
    return renewed;
  };
  await clock.advance(10_500);
  assert.equal(a.leads(), true);
  await clock.advance(1000);
  assert.equal(a.leads(), false);
});

test('a server that does not answer ends a term on time, before another may take over', async () => {
  const clock = manualClock();
  const { api } = leaseServer();
  const silent = { ...api };
  const a = candidate('a', silent, clock);
  await clock.advance(2000);
  Object.assign(silent, { get: () => new Promise(() => {}) });
  const b = candidate('b', api, clock);
  for (let ms = 0; ms < 30_000; ms += 500) {
    await clock.advance(500);
    assert.equal(a.leads() && b.leads(), false, `two lead after ${ms} ms`);
    assert.equal(a.leads() && ms >= 10_000, false, 'the first leads beyond its lease');
  }
  assert.equal(b.leads(), true);
});

test('the clock of another machine does not matter: a lease counts from when its change was seen', async () => {
  const clock = manualClock(Date.parse('2026-11-20T12:00:00Z'));
  const { api } = leaseServer();
  const spec = { holderIdentity: 'other', leaseDurationSeconds: 15, renewTime: '2020-01-01T00:00:00.000000Z' };
  const metadata = { name: 'vmcp-operator', namespace: 'ops' };
  await api.createOwned(
    { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec },
    new AbortController().signal,
  );
  const a = candidate('a', api, clock);
  await clock.advance(14_000);
  assert.equal(a.leads(), false);
  await clock.advance(3000);
  assert.equal(a.leads(), true);
});

test('the lease tells who leads since when, and how often that changed', async () => {
  const clock = manualClock(Date.parse('2026-11-20T12:00:00Z'));
  const { api, spec } = leaseServer();
  const a = candidate('a', api, clock);
  await clock.advance(4000);
  assert.deepEqual(spec(), {
    holderIdentity: 'a',
    leaseDurationSeconds: 15,
    acquireTime: '2026-11-20T12:00:00.000000Z',
    renewTime: '2026-11-20T12:00:04.000000Z',
    leaseTransitions: 0,
  });
  a.stop();
  await clock.advance(0);
  await a.ended;
  assert.equal(spec()?.['holderIdentity'], '');
  candidate('b', api, clock);
  await clock.advance(0);
  assert.equal(spec()?.['leaseTransitions'], 1);
});
