import type { ApiClient } from '../api/client.ts';
import { type ApiError, isNotFound, isRefusal, isTooLarge } from '../api/errors.ts';
import { type KubeObject, keyText } from '../object.ts';
import { clipped, conditionsIn, problem, stalled } from '../plan/conditions.ts';
import {
  DEGRADING,
  type PhasesWithProblems,
  type Plan,
  type PlannedCondition,
  type VolatileKeys,
} from '../plan/plan.ts';
import type { Reason } from '../plan/reasons.ts';
import type { ChildProblem } from './child-problem.ts';
import { agrees } from './diff.ts';
import type { StatusWriteHistory } from './status-write-history.ts';
import { maxStatusBytes, truncatedStatus } from './truncate-status.ts';

type Status = Readonly<Record<string, unknown>>;

/**
 * Values that grow stale on their own are written at most this often (docs/decisions.md "No write without a reason").
 */
const refreshMs = 600_000;

/** One condition for each type of problem, naming all of it. */
export const problemConditions = (problems: readonly ChildProblem[]): readonly PlannedCondition[] =>
  [...Map.groupBy(problems, ({ type }) => type)].map(([type, sameType]) =>
    // It is the API server's, or one of ours.
    problem(type, (sameType[0]?.reason ?? type) as Reason, textOf(sameType)),
  );

const textOf = (problems: readonly { readonly message: string }[]): string =>
  problems.map(({ message }) => message).join('; ');

/**
 * The status with the problems of its children: conditions, and a phase and a `Ready` that are not better than that.
 * Without a Service of ours it has no URL, which would lead to a foreign Service.
 */
export const withProblems = (
  status: Status,
  problems: readonly ChildProblem[],
  phases: PhasesWithProblems = DEGRADING,
): Status => {
  if (problems.length === 0) {
    return status;
  }
  const { phase, message: saidBefore, url, ...rest } = status;
  const added = problemConditions(problems);
  // What a phase says that was bad already stays true beside it.
  const isBadAlready = (phase === 'Degraded' || phase === 'Failed') && typeof saidBefore === 'string';
  const message = clipped(isBadAlready ? `${textOf(problems)}; ${saidBefore}` : textOf(problems));
  const lowered = typeof phase === 'string' ? (phases[phase] ?? phase) : undefined;
  const reason = added[0]?.type;
  // `Degraded` serves as `Ready` does; what has no pods because none are wanted has failed now.
  const ready = { ...(reason && { reason }), message, ...(lowered === 'Failed' && { status: 'False' as const }) };
  const conditions = conditionsIn(status)
    .filter(({ type }) => !added.some((condition) => condition.type === type))
    .map((known) => (known.type === 'Ready' ? { ...known, ...ready } : known));
  const isOurs = !problems.some(({ type, child }) => type === 'ChildConflict' && child.kind === 'Service');
  return {
    ...rest,
    ...(lowered !== undefined && { phase: lowered, message }),
    ...(url === undefined || !isOurs ? {} : { url }),
    conditions: [...conditions, ...added],
  };
};

/** What the plan has to tell of children that are not as it says. */
export const addedConditions = (
  { whileNotApplied = [] }: Pick<Plan, 'whileNotApplied'>,
  problems: readonly ChildProblem[],
): readonly PlannedCondition[] => {
  const failed = new Set(problems.map(({ child }) => keyText(child)));
  return whileNotApplied.filter(({ child }) => failed.has(keyText(child))).map(({ condition }) => condition);
};

/** With `Stalled` also for children that only a change by a user can correct. */
export const withStalled = (status: Status, problems: readonly ChildProblem[]): Status => {
  const known = conditionsIn(status);
  const ofPlan = known.filter(isStalled);
  const ofChildren = problems.flatMap(({ isStuck, type, message }) => (isStuck ? [{ reason: type, message }] : []));
  const others = known.filter((condition) => !isStalled(condition));
  return { ...status, conditions: [...others, ...stalled([...ofPlan, ...ofChildren])] };
};

const isStalled = ({ type }: PlannedCondition): boolean => type === 'Stalled';

/** A condition keeps the time of its last transition while its `status` stays what it was. */
export const withTransitionTimes = (status: Status, owner: KubeObject, nowMs: number): Status => {
  const known = new Map(conditionsIn(owner['status']).map((condition) => [condition.type, condition]));
  const { generation } = owner.metadata;
  const conditions = conditionsIn(status).map((condition) => {
    const before = known.get(condition.type);
    const lastTransitionTime = before?.status === condition.status ? before.lastTransitionTime : timestamp(nowMs);
    return { ...condition, lastTransitionTime, observedGeneration: generation };
  });
  return { ...status, conditions, observedGeneration: generation };
};

const timestamp = (ms: number): string => new Date(ms).toISOString().replace(/\.\d{3}Z$/, 'Z');

export interface ReportDeps {
  readonly api: Pick<ApiClient, 'applyStatus'>;
  readonly cache: { readonly put: (object: KubeObject) => void };
  readonly nowMs: number;
  readonly statusWrites: Pick<StatusWriteHistory, 'ageMs' | 'pauseMs' | 'recordWrite'>;
}

export interface Reported {
  readonly written: boolean;
  /** The server does not take this status; only another one, or another server, helps. */
  readonly refused?: ApiError;
  /** When stale values are due, if that is all that differs. */
  readonly requeueAfterMs?: number;
}

export interface PlannedStatus {
  readonly status: Status;
  readonly volatile: VolatileKeys;
}

/** Writes the status if it differs from the one there. */
export const reportStatus = async (
  owner: KubeObject,
  planned: PlannedStatus,
  deps: ReportDeps,
  signal: AbortSignal,
): Promise<Reported> => {
  const dueMs = refreshMs - deps.statusWrites.ageMs(owner);
  const desiredIn = (room: number): KubeObject =>
    desiredStatus(owner, truncatedStatus(planned.status, room), deps.nowMs);
  const desired = desiredIn(maxStatusBytes(owner['spec']));
  if (agrees(desired, owner, 'status')) {
    return { written: false };
  }
  const calm = { ...desired, status: withVolatileOf(owner['status'], desired['status'], planned.volatile) };
  // Told without its lists it was too large before: that is tried again where it would be written anew anyway.
  if (dueMs > 0 && (agrees(calm, owner, 'status') || agrees(desiredIn(0), owner, 'status'))) {
    return { written: false, requeueAfterMs: dueMs };
  }
  // The author of a new spec waits for its status, and each change of the spec allows one more write.
  if (hasSeenSpec(owner)) {
    const pauseMs = deps.statusWrites.pauseMs(owner);
    if (pauseMs > 0) return { written: false, requeueAfterMs: pauseMs };
    deps.statusWrites.recordWrite(owner);
  }
  const reported = await write(desired, deps, signal);
  return isTooLarge(reported.refused) ? write(desiredIn(0), deps, signal) : reported;
};

const hasSeenSpec = ({ metadata: { generation }, ...owner }: KubeObject): boolean =>
  (owner['status'] as Status | undefined)?.['observedGeneration'] === generation;

const desiredStatus = (owner: KubeObject, status: Status, nowMs: number): KubeObject => {
  const { apiVersion, kind, metadata } = owner;
  const { name, namespace, uid } = metadata;
  return {
    apiVersion,
    kind,
    metadata: { name, namespace, uid },
    status: withTransitionTimes(status, owner, nowMs),
  } as KubeObject;
};

const write = async (desired: KubeObject, deps: ReportDeps, signal: AbortSignal): Promise<Reported> => {
  try {
    deps.cache.put(await deps.api.applyStatus(desired, signal));
    return { written: true };
  } catch (error) {
    if (isNotFound(error)) {
      return { written: false };
    }
    if (isRefusal(error)) {
      return { written: false, refused: error };
    }
    throw error;
  }
};

/** `planned` with the values of volatile keys as they are now; list elements are matched by name or type. */
const withVolatileOf = (live: unknown, planned: unknown, volatile: VolatileKeys): unknown => {
  if (Array.isArray(planned)) {
    const held = Array.isArray(live) ? (live as readonly unknown[]) : [];
    const named = new Map(held.toReversed().map((item) => [nameOf(item), item]));
    return planned.map((item) => withVolatileOf(named.get(nameOf(item)), item, volatile));
  }
  if (typeof planned !== 'object' || planned === null) {
    return planned;
  }
  const held = (typeof live === 'object' && live !== null ? live : {}) as Status;
  const wanted = planned as Status;
  const mayWait = (key: string): boolean => {
    const least = volatile.get(key);
    return (
      least !== undefined && [held[key], wanted[key]].every((value) => typeof value !== 'number' || value >= least)
    );
  };
  const steady = Object.entries(wanted).filter(([key]) => !mayWait(key));
  const stale = Object.entries(held).filter(([key]) => mayWait(key));
  return Object.fromEntries([
    ...steady.map(([key, value]) => [key, withVolatileOf(held[key], value, volatile)] as const),
    ...stale,
  ]);
};

const nameOf = (item: unknown): unknown => {
  const { name, type } = (typeof item === 'object' && item !== null ? item : {}) as { name?: unknown; type?: unknown };
  return name ?? type;
};
