import { isConflict } from './api/errors.ts';
import { transitions } from './engine/events.ts';
import type { ReconciledKind, Reads } from './kinds/kind.ts';
import { acceptedGenerationOf, withAcceptedGeneration } from './plan/accepted-generation.ts';
import { conditionsIn, warningsOf } from './plan/conditions.ts';
import type { Plan, PlannedEvent } from './plan/plan.ts';
import { planOfUnreadable } from './plan/unplanned.ts';
import { whyNoPod } from './read/why-no-pod.ts';
import { type Applied, applyChildren } from './write/apply.ts';
import { TOO_LARGE, UNANSWERED } from './write/child-problem.ts';
import { type Mountable, markPods, podsToMark } from './write/mark-pods.ts';
import { prune } from './write/prune.ts';
import { readMounted } from './write/read-whole.ts';
import { retryAfterMs, slowRetryMs } from './write/retry.ts';
import { addedConditions, problemConditions, reportStatus, withProblems, withStalled } from './write/status.ts';
import { type KubeObject, type ObjectKey, keyOf } from './object.ts';
import type { ReconcileContext } from './reconcile-context.ts';
import { orAborted } from './aborted.ts';

/** What came of it, beside what was written. */
export interface Reconciled {
  readonly againAfterMs?: number;
  /** A child or the status is not as planned, and the status or the log says why. */
  readonly isRefused?: boolean;
}

export interface Attempt {
  readonly signal: AbortSignal;
  /** What belongs together may still be on its way: only what is whole already is acted on. Default: false. */
  readonly isHasty?: boolean;
}

/**
 * read → resolve → plan → apply → report. Throws what another attempt may overcome, and as soon as the signal is
 * aborted.
 */
export const reconcile = async (
  kind: ReconciledKind,
  key: ObjectKey,
  context: ReconcileContext,
  { signal, isHasty = false }: Attempt,
): Promise<Reconciled> => {
  await orAborted(context.source.settled?.(key.namespace), signal);
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
  const resolved = kind.resolve(context.source, key, context.settings.seal);
  if (resolved === undefined) {
    return {};
  }
  const asked = { isWithoutPods: false };
  const bundle = kind.complete ? await kind.complete(resolved, readsOf(context, asked, signal)) : resolved;
  const plan = await orAborted(context.plan(kind, owner, bundle, signal), signal);
  if (isHasty && !isWhole(plan)) return {};
  const applied = await apply(kind, owner, plan, { context, signal });
  // What it collided with is a change that is on its way here: the next look tells of that.
  if (isConflict(applied.fault)) throw applied.fault;
  const reported = await report(kind, owner, { plan, ...applied }, { context, signal });
  const fault = applied.fault ?? applied.faultsAfter[0];
  if (fault !== undefined) throw fault;
  return asked.isWithoutPods ? sooner(reported, WITHOUT_PODS_MS) : reported;
};

/** Is there everything that it refers to, and nothing that speaks against it? */
const isWhole = ({ objects = [], status }: Plan): boolean =>
  objects.length > 0 &&
  conditionsIn(status).every(
    ({ type, status: is }) => is === 'True' || !(type.endsWith('Resolved') || NEEDED.has(type)),
  );

const NEEDED: ReadonlySet<string> = new Set(['Valid', 'BackendsDiscovered']);

/** No event tells that a StatefulSet could not make a pod; that it has made one is an event. */
const WITHOUT_PODS_MS = 10_000;

const sooner = (done: Reconciled, ms: number): Reconciled => ({
  ...done,
  againAfterMs: Math.min(ms, done.againAfterMs ?? ms),
});

const readsOf = (context: ReconcileContext, asked: { isWithoutPods: boolean }, signal: AbortSignal): Reads => ({
  content: (metadata) => context.readContent(metadata, signal),
  whyNoPod: (statefulSet) => {
    asked.isWithoutPods = true;
    return whyNoPod(statefulSet, context.api, signal);
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
): Promise<AppliedAll> => {
  if (plan.pullStatusEveryMs === undefined) {
    context.forget(keyOf(owner));
  } else {
    context.followPods(keyOf(owner), owner.metadata.uid ?? '', plan.pullStatusEveryMs);
  }
  const deps = { ...context, onRetaken: (child: ObjectKey) => context.record(owner, [retaken(child)], signal) };
  if (plan.objects === undefined) {
    return { ...(await applyChildren(owner, plan.repairs ?? [], deps, signal)), faultsAfter: [] };
  }
  const applied = await applyChildren(owner, plan.objects, deps, signal);
  const { missing, fault } = applied;
  // Nothing goes on account of what may pass the next moment.
  if (fault !== undefined) return { ...applied, faultsAfter: [] };
  const planned = { kinds: kind.owns, objects: wanted(plan.objects, missing), mayGo: prunable(missing) };
  const pruned = await attempt(() => prune(owner, planned, context, signal), signal);
  const refreshed = await attempt(() => refreshMounts(kind, owner, { context, signal }), signal);
  return { ...applied, faultsAfter: [...pruned, ...refreshed] };
};

interface AppliedAll extends Applied {
  /** Of what comes after the children, about which the status says nothing: to be thrown once that is written. */
  readonly faultsAfter: readonly unknown[];
}

/** Answers what it met with. */
const attempt = async (work: () => Promise<void>, signal: AbortSignal): Promise<readonly unknown[]> => {
  try {
    await work();
    return [];
  } catch (error) {
    signal.throwIfAborted();
    return [error];
  }
};

const retaken = ({ kind, name }: ObjectKey): PlannedEvent => ({
  type: 'Warning',
  reason: 'ChildTaken',
  message: `somebody took ${kind} ${name} from this resource, whose pods mount it; it is put right`,
});

/**
 * What serves stays until what takes its place is there: pods while any child is missing, and while those are, also
 * what they may still name.
 */
const prunable =
  (missing: readonly ObjectKey[]) =>
  (object: KubeObject): boolean => {
    if (isUnfounded(object, missing)) return true;
    if (lacksPods(missing)) return false;
    return missing.length === 0 || !RUNS_PODS.has(object.kind);
  };

const lacksPods = (missing: readonly ObjectKey[]): boolean => missing.some(({ kind }) => RUNS_PODS.has(kind));

const RUNS_PODS: ReadonlySet<string> = new Set(['Deployment', 'StatefulSet']);

/** A RoleBinding whose Role, which has its name, is not ours gives rights that nobody meant to give: it goes. */
const isUnfounded = ({ kind, metadata }: KubeObject, missing: readonly ObjectKey[]): boolean =>
  kind === 'RoleBinding' && missing.some((key) => key.kind === 'Role' && key.name === metadata.name);

const wanted = (objects: readonly KubeObject[], missing: readonly ObjectKey[]): readonly KubeObject[] =>
  objects.filter((object) => !isUnfounded(object, missing));

/** Only servers have pods that mount what is rendered for them. */
const refreshMounts = async (kind: ReconciledKind, owner: KubeObject, { context, signal }: Effects): Promise<void> => {
  if (!kind.owns.includes('ConfigMap')) {
    return;
  }
  const configMaps = context.cache.controlledBy('ConfigMap', owner);
  const { namespace } = keyOf(owner);
  const unseen: Mountable['unseen'] = (of, name) =>
    kind.reads.includes(of) ? context.cache.get({ kind: of, namespace, name }) : undefined;
  const pods = context.podsOf(keyOf(owner));
  await markPods(podsToMark({ configMaps, unseen }, pods), context, signal);
};

interface Done extends Applied {
  readonly plan: Plan;
}

const report = async (
  kind: ReconciledKind,
  owner: KubeObject,
  done: Done,
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
  const { api, cache, statusWrites: ages } = context;
  const reported = await reportStatus(owner, planned, { api, cache, nowMs, ages }, signal);
  if (reported.written) {
    const warnings = warningsOf([...added, ...problemConditions(problems)]);
    await context.record(owner, transitions([...plan.events, ...warnings], owner['status'], status), signal);
  }
  if (reported.refused !== undefined) {
    context.onStatusRefused(keyOf(owner), reported.refused);
  }
  const delays = [
    plan.againAfterMs,
    context.unsent.againAfterMs(owner.metadata.uid ?? '', unanswered(problems)),
    reported.againAfterMs,
    reported.refused === undefined ? undefined : slowRetryMs,
    // What is too large only a change makes smaller, and each is an event.
    problems.every(({ reason }) => reason === TOO_LARGE || reason === UNANSWERED) || reported.refused !== undefined
      ? undefined
      : retryAfterMs(owner['status'], nowMs),
  ].filter((ms) => ms !== undefined);
  const isRefused = problems.length > 0 || reported.refused !== undefined;
  return { isRefused, ...(delays.length > 0 && { againAfterMs: Math.min(...delays) }) };
};

const unanswered = (problems: Done['problems']): readonly ObjectKey[] =>
  problems.filter(({ reason }) => reason === UNANSWERED).map(({ child }) => child);

/** docs/decisions.md "Last good spec": accepted is what was applied, too. */
const acceptedNow = (owner: KubeObject, { plan: { acceptedGeneration }, missing }: Done): number | undefined =>
  acceptedGeneration === undefined || lacksPods(missing) ? acceptedGenerationOf(owner) : acceptedGeneration;
