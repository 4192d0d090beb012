import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { isRoutable, mergeReports } from '../../../../../operator/plan/server/status/reports.ts';
import type { BackendStatus, CircuitState, StatusReport } from '../../../../../runtime/status/report.ts';
import { covers } from '../../../../requirements.ts';
import { availableDeployment, entry, group, planOf, report, server, statusOf } from '../../plan-of-demo.ts';

const merged = (...views: readonly BackendStatus[]): BackendStatus | undefined =>
  mergeReports(new Map(views.map((status, index) => [`pod-${index}`, report({ a: status })]))).backends.get('a')
    ?.status;

const rows: readonly (readonly [readonly BackendStatus[], BackendStatus])[] = [
  [['ready', 'ready'], 'ready'],
  [['ready', 'unknown'], 'ready'],
  [['ready', 'unauthenticated'], 'unauthenticated'],
  [['ready', 'unavailable'], 'degraded'],
  [['unauthenticated', 'degraded'], 'degraded'],
  [['unavailable', 'degraded'], 'unavailable'],
  [['unavailable', 'unknown'], 'unavailable'],
  [['unknown', 'unknown'], 'unknown'],
];

for (const [views, expected] of rows) {
  test(`replicas that see ${views.join(' and ')} make it ${expected}`, () => {
    assert.equal(merged(...views), expected);
    assert.equal(merged(...views.toReversed()), expected);
  });
}

const anyStatus = fc.constantFrom<BackendStatus>('ready', 'degraded', 'unavailable', 'unauthenticated', 'unknown');

test('a backend counts as routable only when every replica that knows it can route to it', () => {
  fc.assert(
    fc.property(fc.array(anyStatus, { minLength: 1, maxLength: 5 }), (views) => {
      const known = views.filter((status) => status !== 'unknown');
      assert.equal(isRoutable(merged(...views) ?? 'unknown'), known.length > 0 && known.every(isRoutable));
    }),
  );
});

test('the order in which replicas are asked does not matter', () => {
  const views: readonly (readonly [string, StatusReport | 'unreachable'])[] = [
    ['b', report({ a: 'ready', c: 'unavailable' })],
    ['a', 'unreachable'],
    ['d', report({ a: 'unavailable' })],
  ];
  assert.deepEqual(mergeReports(new Map(views)), mergeReports(new Map(views.toReversed())));
});

test('what any replica says about names is reported once', () => {
  const unresolved = [{ name: 't', backends: ['a', 'b'] }];
  const unmatched = [{ workload: 'a', setting: 'filter', tool: 'x' }] as const;
  const unusual = [{ name: 'a.b', backend: 'a' }];
  const incomplete = [{ name: 'w', missing: ['a.x'] }];
  const mismatched = [{ name: 'v', problems: ['step "a": a.x takes no argument "n"'] }];
  const views: readonly (readonly [string, StatusReport])[] = [
    ['p', { ...report({ a: 'ready' }), unresolved, unmatched, incomplete, mismatched }],
    ['q', { ...report({ a: 'ready' }), unresolved, unusual, incomplete, mismatched }],
  ];
  const all = mergeReports(new Map(views));
  assert.deepEqual(
    [all.unresolved, all.unmatched, all.unusual, all.incomplete, all.mismatched],
    [unresolved, unmatched, unusual, incomplete, mismatched],
  );
});

covers(
  'status.discovered.last-health-check',
  'status.discovered.consecutive-failures',
  'status.discovered.consecutive-failures-reset',
);
test('the status tells the latest check of any replica, and the most failures in a row that one has counted', () => {
  const seen = (at: string, consecutiveFailures: number): StatusReport => {
    const one = report({ a: 'ready' });
    return { ...one, backends: one.backends.map((each) => ({ ...each, lastHealthCheck: at, consecutiveFailures })) };
  };
  const told = (...reports: readonly StatusReport[]): unknown => {
    const pods = new Map(reports.map((each, index) => [`pod-${index}`, each]));
    const plan = planOf({ objects: [server(), group(), entry('a')], reports: pods });
    const [backend] = statusOf(plan)['discoveredBackends'] as readonly Readonly<Record<string, unknown>>[];
    return [backend?.['lastHealthCheck'], backend?.['consecutiveFailures']];
  };
  const [early, late] = ['2026-11-20T12:00:00.100Z', '2026-11-20T12:00:29.000Z'] as const;
  assert.deepEqual(told(seen(early, 0), seen(late, 2)), [late, 2]);
  assert.deepEqual(told(seen(late, 0), seen(early, 1)), [late, 1]);
  assert.deepEqual(told(seen(early, 0), seen(early, 0)), [early, 0]);
});

const good = report({ a: 'ready' });
const [backend] = good.backends;
const odd: readonly unknown[] = [
  null,
  5,
  'a text',
  {},
  { ...good, config: undefined },
  { ...good, backends: null },
  { ...good, backends: [null] },
  { ...good, backends: [{ ...backend, status: 'weird' }] },
  { ...good, backends: [{ ...backend, consecutiveFailures: 'many' }] },
  { ...good, collisions: [null] },
  { ...good, toolCount: Number.NaN },
];

test('collisions that a replica counts but does not name are told as a number', () => {
  const named = { name: 'a_x', keptBy: 'a', lostBy: 'b' };
  const of = (collisionCount: number): StatusReport => ({ ...good, collisions: [named], collisionCount });
  const merged = mergeReports(
    new Map([
      ['one', of(1)],
      ['two', of(250)],
    ]),
  );
  assert.deepEqual([merged.collisions, merged.collisionCount], [[named], 250]);
});

for (const each of odd) {
  test(`a pod that reports ${JSON.stringify(each)} counts as one that does not answer`, () => {
    const reports = new Map([
      ['odd', each as StatusReport],
      ['pod', good],
    ]);
    const alone = mergeReports(new Map([['pod', good]]));
    assert.deepEqual(mergeReports(reports), { ...alone, unreachable: ['odd'] });
  });
}

const OLD = '2026-11-20T11:00:00.000Z';
const NEW = '2026-11-20T12:00:00.000Z';

interface SeenCircuit {
  readonly state?: CircuitState;
  readonly at?: string;
}

const withCircuit = ({ state, at }: SeenCircuit): StatusReport => {
  const seen = report({ a: 'ready' });
  const circuit = {
    ...(state !== undefined && { circuitBreakerState: state }),
    ...(at !== undefined && { circuitLastChanged: at }),
  };
  return { ...seen, backends: seen.backends.map((backend) => ({ ...backend, ...circuit })) };
};
const reportsOf = (views: readonly SeenCircuit[]) =>
  new Map(views.map((view, index) => [`pod-${index}`, withCircuit(view)]));

describe('the circuit of a backend, as replicas see it', () => {
  for (const [views, expected] of [
    [[{}, {}], {}],
    [[{ state: 'closed' }, {}], { state: 'closed' }],
    [
      [
        { state: 'closed', at: OLD },
        { state: 'closed', at: NEW },
      ],
      { state: 'closed', at: NEW },
    ],
    [
      [
        { state: 'closed', at: NEW },
        { state: 'open', at: OLD },
      ],
      { state: 'open', at: OLD },
    ],
    [
      [
        { state: 'half-open', at: NEW },
        { state: 'open', at: OLD },
      ],
      { state: 'open', at: OLD },
    ],
    [
      [
        { state: 'half-open', at: OLD },
        { state: 'closed', at: NEW },
      ],
      { state: 'half-open', at: OLD },
    ],
    [[{ state: 'open', at: OLD }, { state: 'open', at: NEW }, { state: 'closed' }], { state: 'open', at: NEW }],
  ] as const satisfies readonly (readonly [readonly SeenCircuit[], SeenCircuit])[]) {
    test(`${JSON.stringify(views)} is ${JSON.stringify(expected)} together`, () => {
      for (const asked of [views, views.toReversed()]) {
        const backend = mergeReports(reportsOf(asked)).backends.get('a');
        const { circuitBreakerState: state, circuitLastChanged: at } = backend ?? {};
        assert.deepEqual({ ...(state && { state }), ...(at && { at }) }, expected);
      }
    });
  }

  covers(
    'status.discovered.circuit-state-disabled',
    'status.discovered.circuit-last-changed',
    'status.discovered.circuit-last-changed-disabled',
    'status.discovered.circuit-last-changed-never',
  );
  test('is in the status of the server, and absent without a breaker; an operator that starts anew keeps it', () => {
    const objects = (status: object = {}) => [{ ...server(), status }, group(), entry('a'), availableDeployment];
    const shown = (plan: ReturnType<typeof planOf>) => {
      const [backend] = statusOf(plan)['discoveredBackends'] as readonly Record<string, unknown>[];
      return Object.fromEntries(Object.entries(backend ?? {}).filter(([key]) => key.startsWith('circuit')));
    };
    const told = (view: SeenCircuit) => planOf({ objects: objects(), reports: reportsOf([view]) });
    assert.deepEqual(shown(told({})), {});
    assert.deepEqual(shown(told({ state: 'closed' })), { circuitBreakerState: 'closed' });
    const open = told({ state: 'open', at: NEW });
    const expected = { circuitBreakerState: 'open', circuitLastChanged: NEW };
    assert.deepEqual(shown(open), expected);
    assert.deepEqual(shown(planOf({ objects: objects(statusOf(open)) })), expected);
  });

  test('may be told in known words only', () => {
    const bad = withCircuit({ state: 'ajar' as CircuitState });
    assert.equal(mergeReports(new Map([['pod', bad]])).reachable, 0);
  });
});
