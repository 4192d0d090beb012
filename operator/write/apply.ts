/*
 * Makes the cluster what a plan says: server-side apply under one field manager, pruning, status, marks on pods. An
 * object is sent only when it differs from the cached one in the fields that the operator manages; refusals of the API
 * server become problems in the status. stdout.ts and in-process.ts are the other targets, for `render` and `local`.
 * Start with `applyChildren` below, then status.ts.
 */

import { isMountedByOwner, removeConflicts, isModifiedByOthers } from './config-map-ownership.ts';
import { handOverReplicas } from './hand-over-replicas.ts';
import { dependsOn } from './child-dependencies.ts';
import { isAsPlanned } from './server-mutations.ts';
import type { ServerMutations } from './server-mutations.ts';
import { readWhole } from './read-whole.ts';
import { repairOf } from './service-diff.ts';
import type { ApplyTarget, ApplyBackoff } from './apply-backoff.ts';
import { TOO_LARGE, UNANSWERED, type ChildProblem } from './child-problem.ts';
import { ApiError, isConflict, isMalformed, isRefusal, isTooLarge, isTooLong, UnansweredError } from '../api/errors.ts';
import type { ApiClient } from '../api/client.ts';
import type { Cache } from '../cache/cache.ts';
import { keyOf, keyText } from '../object.ts';
import type { KubeObject, ObjectKey } from '../object.ts';
import { isOwnedBy } from '../read/controlled.ts';

export interface Applied {
  readonly problems: readonly ChildProblem[];
  /** Children that are not as planned: those of the problems, and those that wait for one of them. */
  readonly missing: readonly ObjectKey[];
  /** An error that may pass by itself: to be thrown when all else is done, so that the key is retried. */
  readonly retryableError?: ApiError;
}

export interface ApplyDeps {
  readonly api: Pick<ApiClient, 'get' | 'apply' | 'applyNew' | 'mergePatch' | 'remove'>;
  readonly cache: Pick<Cache, 'get' | 'put' | 'fill' | 'controlledBy'>;
  /** Remembers what the API server stores in another form than was sent. */
  readonly serverMutations: ServerMutations;
  /** Holds back children that the API server found too large or did not answer. */
  readonly applyBackoff: ApplyBackoff;
  /** Called when ownership of a child that another writer had taken is restored. */
  readonly onOwnershipRestored?: (child: ObjectKey) => Promise<void>;
}

/**
 * Applies the children in the order of the plan. A child that fails is reported and blocks only those that depend on
 * it: a removed backend must go also while a Service is refused. Sends nothing for a child that agrees already. Throws
 * only errors that are no answer of the API server.
 */
export const applyChildren = async (
  owner: KubeObject,
  children: readonly KubeObject[],
  deps: ApplyDeps,
  signal: AbortSignal,
): Promise<Applied> => {
  const problems: ChildProblem[] = [];
  const errors: ApiError[] = [];
  const missing: KubeObject[] = [];
  deps.applyBackoff.retain(owner, children);
  for (const child of children) {
    const awaited = missing.filter((each) => dependsOn(child, each));
    if (awaited.length > 0) {
      missing.push(child);
      awaited.forEach((each) => nameWaiting(problems, keyOf(each), child));
      continue;
    }
    const outcome = await attempt(owner, child, deps, signal);
    if (outcome === undefined) {
      continue;
    }
    missing.push(child);
    if (outcome instanceof ApiError) {
      errors.push(outcome);
    }
    problems.push(outcome instanceof ApiError ? refused(child, outcome) : outcome);
  }
  const retryableError = errors.find((each) => !isConflict(each)) ?? errors[0];
  return { problems, missing: missing.map(keyOf), ...(retryableError && { retryableError }) };
};

const nameWaiting = (problems: ChildProblem[], key: ObjectKey, { kind, metadata: { name } }: KubeObject): void => {
  const at = problems.findIndex(({ child }) => child.kind === key.kind && child.name === key.name);
  const problem = problems[at];
  if (problem !== undefined) {
    problems[at] = { ...problem, message: `${problem.message}; ${kind} ${name} waits for it` };
  }
};

/** Undefined when the child is as planned. */
const attempt = async (
  owner: KubeObject,
  child: KubeObject,
  deps: ApplyDeps,
  signal: AbortSignal,
): Promise<ChildProblem | ApiError | undefined> => {
  try {
    return await applyChild(owner, child, deps, signal);
  } catch (error) {
    if (isRefusal(error)) {
      return refused(child, error);
    }
    if (error instanceof ApiError) {
      return error;
    }
    throw error;
  }
};

const refused = (object: KubeObject, error: ApiError): ChildProblem => {
  const child = keyOf(object);
  const { reason, message } = error;
  const told: Pick<ChildProblem, 'reason' | 'message' | 'isStuck'> =
    isTooLarge(error) || isTooLong(error)
      ? { reason: TOO_LARGE, message: `${keyText(child)} is too large; ${SMALLER} (${message})`, isStuck: true }
      : // A quota may have room later, and rights may come with the next object that is applied.
        { reason, message: `${keyText(child)}: ${message}`, isStuck: isMalformed(error) };
  return { type: 'ChildRefused', child, ...told };
};

/** Most of what is rendered are backends, with what each one is called by. */
const SMALLER = 'name fewer backends, or shorten URLs, headers, overrides and policies';

/**
 * The status of a resource that is not reconciled yet is not empty: the CRD defaults its phase. Only the operator
 * writes conditions.
 */
const wasReported = (owner: KubeObject): boolean =>
  (owner['status'] as { readonly conditions?: readonly unknown[] } | undefined)?.conditions !== undefined;

const applyChild = async (
  owner: KubeObject,
  child: KubeObject,
  deps: ApplyDeps,
  signal: AbortSignal,
): Promise<ChildProblem | undefined> => {
  const key = keyOf(child);
  const held = deps.cache.get(key);
  // A new resource has no children yet: one request creates each, and takes over none that another writer creates
  // meanwhile.
  if (held === undefined && !wasReported(owner)) {
    const made = { owner, child, existing: undefined };
    const { applied, problem } = await sendUnlessHeldBack(made, deps, () => deps.api.applyNew(child, signal));
    if (applied !== undefined || problem !== undefined) return problem;
  }
  const cached = held && (await readWhole(held, deps, signal));
  // docs/decisions.md "Ownership". What the cache lacks may exist all the same: watched are only objects with our
  // label.
  const existing = cached ?? (await deps.api.get(key, signal));
  if (existing !== undefined && !isOwnedBy(existing, owner) && !isMountedByOwner(owner, child, deps.cache)) {
    return ownedByAnother(existing, key, owner);
  }
  if (existing?.metadata.deletionTimestamp !== undefined && child.kind !== 'ConfigMap') {
    // Its removal is an event, and then it is made anew. Pods read a ConfigMap as long as it is there.
    return undefined;
  }
  if (cached !== undefined && (isAsPlanned(child, cached) || deps.serverMutations.isKnown(child, cached))) {
    deps.applyBackoff.reset(owner, child);
    return undefined;
  }
  const target = { owner, child, existing };
  const { applied, problem } = await sendUnlessHeldBack(target, deps, () => send(target, deps, signal));
  if (applied !== undefined && existing !== undefined && !isOwnedBy(existing, owner)) {
    await deps.onOwnershipRestored?.(key);
  }
  return problem;
};

interface ApplyResult {
  /** Undefined also where the request did not write. */
  readonly applied?: KubeObject | undefined;
  readonly problem?: ChildProblem;
}

const sendUnlessHeldBack = async (
  target: ApplyTarget,
  deps: ApplyDeps,
  request: () => Promise<KubeObject | undefined>,
): Promise<ApplyResult> => {
  const heldBack = deps.applyBackoff.find(target);
  if (heldBack !== undefined) {
    return { problem: heldBack };
  }
  try {
    const applied = await request();
    if (applied !== undefined) recordApplied(target, applied, deps);
    return { applied };
  } catch (error) {
    const problem = permanentFailure(target.child, error);
    if (problem === undefined) throw error;
    deps.applyBackoff.record(target, problem);
    return { problem };
  }
};

const recordApplied = (
  { owner, child }: ApplyTarget,
  applied: KubeObject,
  { applyBackoff, cache, serverMutations }: ApplyDeps,
): void => {
  applyBackoff.reset(owner, child);
  cache.put(applied);
  // A child that was deleted meanwhile is not in the cache, and its record would never be removed.
  if (cache.get(keyOf(child))?.metadata.uid === applied.metadata.uid) {
    serverMutations.record(child, applied);
  }
};

/** Why the child is not sent again as it is; undefined where that may help. */
const permanentFailure = (object: KubeObject, error: unknown): ChildProblem | undefined => {
  if (isTooLarge(error) || isTooLong(error)) return refused(object, error);
  if (!(error instanceof UnansweredError)) return undefined;
  const child = keyOf(object);
  const message = `${keyText(child)}: ${error.message}; look at its quantities and sizes; as it is it is sent again after ten minutes at the earliest`;
  return { type: 'ChildRefused', reason: UNANSWERED, message, child, isStuck: true };
};

const send = async (
  { owner, child, existing }: ApplyTarget,
  deps: ApplyDeps,
  signal: AbortSignal,
): Promise<KubeObject> => {
  if (existing !== undefined) {
    await prepare(child, existing, deps, signal);
  }
  try {
    return await deps.api.apply(pinned(child, existing), signal);
  } catch (error) {
    if (existing === undefined || !isMalformed(error) || !isModifiedByOthers(child, existing)) throw error;
    await removeConflicts({ owner, child, existing }, deps, signal);
    return deps.api.apply(child, signal);
  }
};

/** Patches what an apply alone would do wrong, or could not do. */
const prepare = async (child: KubeObject, live: KubeObject, { api }: ApplyDeps, signal: AbortSignal): Promise<void> => {
  await handOverReplicas(child, live, api, signal);
  const repair = repairOf(child, live);
  if (repair !== undefined) {
    await api.mergePatch(keyOf(child), repair, signal);
  }
};

/** With its uid an object is not applied to a namesake that took its place meanwhile. */
const pinned = (child: KubeObject, existing: KubeObject | undefined): KubeObject =>
  existing?.metadata.uid === undefined
    ? child
    : { ...child, metadata: { ...child.metadata, uid: existing.metadata.uid } };

const ownedByAnother = (existing: KubeObject, child: ObjectKey, { kind, metadata }: KubeObject): ChildProblem => {
  const owner = existing.metadata.ownerReferences?.find(({ controller }) => controller === true);
  const belongs = owner === undefined ? 'is not owned by this resource' : `belongs to ${owner.kind} ${owner.name}`;
  const conflict = { type: 'ChildConflict', reason: 'ChildConflict', child } as const;
  const taken = `${existing.kind} ${existing.metadata.name} exists already and ${belongs}`;
  // It belongs to the resource that had this name before, and is garbage-collected.
  return owner?.kind === kind && owner.name === metadata.name
    ? { ...conflict, message: `${taken}, which was deleted and made again; it goes by itself`, isStuck: false }
    : { ...conflict, message: `${taken}; delete it, or give this resource another name`, isStuck: true };
};
