import { isConflict } from './api/errors.ts';
import { transitions } from './engine/events.ts';
import type { ReconciledKind, Reads } from './kinds/kind.ts';
import { acceptedGenerationOf, withAcceptedGeneration } from './plan/accepted-generation.ts';
import { conditionsIn, warningsOf } from './plan/conditions.ts';
import type { Plan, PlannedEvent } from './plan/plan.ts';
import { planOfUnreadable } from './plan/unplanned.ts';
import { podCreationFailure } from './read/pod-creation-failure.ts';
import { type Applied, applyChildren } from './write/apply.ts';
import { TOO_LARGE, UNANSWERED } from './write/child-problem.ts';
import { type Mountable, annotatePods, podsToAnnotate } from './write/annotate-pods.ts';
import { prune } from './write/prune.ts';
import { readMounted } from './write/read-whole.ts';
import { retryAfterMs, slowRetryMs } from './write/retry.ts';
import { addedConditions, problemConditions, reportStatus, withProblems, withStalled } from './write/status.ts';
import { type KubeObject, type ObjectKey, keyOf } from './object.ts';
import type { ReconcileContext } from './reconcile-context.ts';
import { abortable } from './aborted.ts';

/** The outcome of a reconcile. */
export interface Reconciled {
  readonly requeueAfterMs?: number;
  /** A child or the status is not as planned, and the status or the log says why. */
  readonly isRefused?: boolean;
}

/** How one reconcile is made. */
export interface Attempt {
  readonly signal: AbortSignal;
  /** Objects that belong together may still be on their way: acts only if every reference is there. Default: false. */
  readonly isEarly?: boolean;
}

/**
 * read → resolve → plan → apply → report. Throws what another attempt may overcome, and as soon as the signal is
 * aborted.
 */
export const reconcile = async (
  kind: ReconciledKind,
  key: ObjectKey,
  context: ReconcileContext,
  { signal, isEarly = false }: Attempt,
): Promise<Reconciled> => {
  await abortable(context.source.settled?.(key.namespace), signal);
  const owner = context.cache.get(key);
  if (owner === undefined || owner.metadata.deletionTimestamp !== undefined) {
    context.forget(key);
    return {};
  }
  const unreadable = planOfUnreadable(owner, kind.phasesWithProblems);
  if (unreadable !== undefined) {
    context.forget(key);
    return report(kind, owner, { plan: unreadable, problems: [], missing: [] }, { context, signal });
  }
  if (kind.owns.includes('ConfigMap')) await readMounted(owner, context, signal);
  const resolved = kind.resolve(context.source, key, context.settings.mac);
  if (resolved === undefined) {
    return {};
  }
  const asked = { isWithoutPods: false };
  const bundle = kind.complete ? await kind.complete(resolved, readsOf(context, asked, signal)) : resolved;
  const plan = await abortable(context.plan(kind, owner, bundle, signal), signal);
  if (isEarly && !isComplete(plan)) return {};
  const applied = await apply(kind, owner, plan, { context, signal });
  // The conflicting change is on its way here and triggers another reconcile.
  if (isConflict(applied.retryableError)) throw applied.retryableError;
  const reported = await report(kind, owner, { plan, ...applied }, { context, signal });
  const firstError = applied.retryableError ?? applied.laterErrors[0];
  if (firstError !== undefined) throw firstError;
  return asked.isWithoutPods ? requeueWithin(reported, POD_CREATION_RECHECK_MS) : reported;
};

/** Whether every reference is resolved and the plan has children and no problem. */
const isComplete = ({ objects = [], status }: Plan): boolean =>
  objects.length > 0 &&
  conditionsIn(status).every(
    ({ type, status: is }) => is === 'True' || !(type.endsWith('Resolved') || NEEDED.has(type)),
  );

const NEEDED: ReadonlySet<string> = new Set(['Valid', 'BackendsDiscovered']);

/** No event of a watch says that a StatefulSet could not make a pod; that it has made one is an event. */
const POD_CREATION_RECHECK_MS = 10_000;

const requeueWithin = (done: Reconciled, ms: number): Reconciled => ({
  ...done,
  requeueAfterMs: Math.min(ms, done.requeueAfterMs ?? ms),
});

const readsOf = (context: ReconcileContext, asked: { isWithoutPods: boolean }, signal: AbortSignal): Reads => ({
  content: (metadata) => context.readContent(metadata, signal),
  podCreationFailure: (statefulSet) => {
    asked.isWithoutPods = true;
    return podCreationFailure(statefulSet, context.api, signal);
  },
});

interface Effects {
  readonly context: ReconcileContext;
  readonly signal: AbortSignal;
}

const apply = async (
  kind: ReconciledKind,
  owner: KubeObject,
  plan: Plan,
  { context, signal }: Effects,
): Promise<AppliedAndPruned> => {
  if (plan.statusPollIntervalMs === undefined) {
    context.forget(keyOf(owner));
  } else {
    context.pollPods(keyOf(owner), owner.metadata.uid ?? '', plan.statusPollIntervalMs);
  }
  const deps = {
    ...context,
    onOwnershipRestored: (child: ObjectKey) => context.record(owner, [ownershipRestored(child)], signal),
  };
  if (plan.objects === undefined) {
    return { ...(await applyChildren(owner, plan.repairs ?? [], deps, signal)), laterErrors: [] };
  }
  const applied = await applyChildren(owner, plan.objects, deps, signal);
  const { missing, retryableError } = applied;
  // A transient error removes nothing.
  if (retryableError !== undefined) return { ...applied, laterErrors: [] };
  const planned = { kinds: kind.owns, objects: withTheirRoles(plan.objects, missing), isPrunable: prunable(missing) };
  const pruned = await attempt(() => prune(owner, planned, context, signal), signal);
  const refreshed = await attempt(() => refreshMounts(kind, owner, { context, signal }), signal);
  return { ...applied, laterErrors: [...pruned, ...refreshed] };
};

interface AppliedAndPruned extends Applied {
  /** Errors of pruning and annotating, which the status does not mention: thrown once it is written. */
  readonly laterErrors: readonly unknown[];
}

/** Returns the error of `work`, if it has one. */
const attempt = async (work: () => Promise<void>, signal: AbortSignal): Promise<readonly unknown[]> => {
  try {
    await work();
    return [];
  } catch (error) {
    signal.throwIfAborted();
    return [error];
  }
};

const ownershipRestored = ({ kind, name }: ObjectKey): PlannedEvent => ({
  type: 'Warning',
  reason: 'ChildTaken',
  message: `somebody took ${kind} ${name} from this resource, whose pods mount it; it is put right`,
});

/**
 * Running pods stay until their replacement exists: while any child is missing pods are kept, and while pods are
 * missing also what they may still mount.
 */
const prunable =
  (missing: readonly ObjectKey[]) =>
  (object: KubeObject): boolean => {
    if (lacksRole(object, missing)) return true;
    if (lacksPods(missing)) return false;
    return missing.length === 0 || !RUNS_PODS.has(object.kind);
  };

const lacksPods = (missing: readonly ObjectKey[]): boolean => missing.some(({ kind }) => RUNS_PODS.has(kind));

const RUNS_PODS: ReadonlySet<string> = new Set(['Deployment', 'StatefulSet']);

/**
 * A RoleBinding whose Role is foreign would grant rights that the operator does not mean to grant, so it is removed.
 */
const lacksRole = ({ kind, metadata }: KubeObject, missing: readonly ObjectKey[]): boolean =>
  kind === 'RoleBinding' && missing.some((key) => key.kind === 'Role' && key.name === metadata.name);

const withTheirRoles = (objects: readonly KubeObject[], missing: readonly ObjectKey[]): readonly KubeObject[] =>
  objects.filter((object) => !lacksRole(object, missing));

/** Only servers have pods that mount what is rendered for them. */
const refreshMounts = async (kind: ReconciledKind, owner: KubeObject, { context, signal }: Effects): Promise<void> => {
  if (!kind.owns.includes('ConfigMap')) {
    return;
  }
  const configMaps = context.cache.controlledBy('ConfigMap', owner);
  const { namespace } = keyOf(owner);
  const metadataOf: Mountable['metadataOf'] = (of, name) =>
    kind.reads.includes(of) ? context.cache.get({ kind: of, namespace, name }) : undefined;
  const pods = context.podsOf(keyOf(owner));
  await annotatePods(podsToAnnotate({ configMaps, metadataOf }, pods), context, signal);
};

interface Outcome extends Applied {
  readonly plan: Plan;
}

const report = async (
  kind: ReconciledKind,
  owner: KubeObject,
  done: Outcome,
  { context, signal }: Effects,
): Promise<Reconciled> => {
  const { plan, problems } = done;
  if (plan.status === undefined) {
    return { isRefused: problems.length > 0 };
  }
  const known = withAcceptedGeneration(plan.status, acceptedNow(owner, done));
  const added = addedConditions(plan, problems);
  const told = { ...known, conditions: [...conditionsIn(known), ...added] };
  const status = withStalled(withProblems(told, problems, kind.phasesWithProblems), problems);
  const planned = { status, volatile: kind.volatileStatus?.(owner) ?? new Map() };
  const nowMs = context.now();
  const { api, cache, statusWrites } = context;
  const reported = await reportStatus(owner, planned, { api, cache, nowMs, statusWrites }, signal);
  if (reported.written) {
    const warnings = warningsOf([...added, ...problemConditions(problems)]);
    await context.record(owner, transitions([...plan.events, ...warnings], owner['status'], status), signal);
  }
  if (reported.refused !== undefined) {
    context.onStatusRefused(keyOf(owner), reported.refused);
  }
  const delays = [
    plan.requeueAfterMs,
    context.applyBackoff.requeueAfterMs(owner.metadata.uid ?? '', unanswered(problems)),
    reported.requeueAfterMs,
    reported.refused === undefined ? undefined : slowRetryMs,
    // What is too large only a change makes smaller, and each is an event.
    problems.every(({ reason }) => reason === TOO_LARGE || reason === UNANSWERED) || reported.refused !== undefined
      ? undefined
      : retryAfterMs(owner['status'], nowMs),
  ].filter((ms) => ms !== undefined);
  const isRefused = problems.length > 0 || reported.refused !== undefined;
  return { isRefused, ...(delays.length > 0 && { requeueAfterMs: Math.min(...delays) }) };
};

const unanswered = (problems: Outcome['problems']): readonly ObjectKey[] =>
  problems.filter(({ reason }) => reason === UNANSWERED).map(({ child }) => child);

/** docs/decisions.md "Last good spec": accepted is what was applied, too. */
const acceptedNow = (owner: KubeObject, { plan: { acceptedGeneration }, missing }: Outcome): number | undefined =>
  acceptedGeneration === undefined || lacksPods(missing) ? acceptedGenerationOf(owner) : acceptedGeneration;
