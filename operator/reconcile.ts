import type { ApiClient } from './api/client.ts';
import type { Cache } from './engine/cache.ts';
import { transitions } from './engine/events.ts';
import type { ReconciledKind } from './kinds/kind.ts';
import { keyOf } from './object.ts';
import type { KubeObject, ObjectKey } from './object.ts';
import type { Plan, PlannedEvent } from './plan/plan.ts';
import type { Settings } from './plan/settings.ts';
import type { Source } from './read/source.ts';
import { applyChildren } from './write/apply.ts';
import type { ChildProblem, Rewrites } from './write/apply.ts';
import { markPods, podsToMark } from './write/mark-pods.ts';
import { prune } from './write/prune.ts';
import { reportStatus, withProblem } from './write/status.ts';

/** The cluster as a reconcile sees and changes it. */
export interface World {
  readonly source: Source;
  readonly settings: Settings;
  readonly api: ApiClient;
  readonly cache: Cache;
  readonly rewrites: Rewrites;
  readonly now: () => number;
  readonly podsOf: (owner: ObjectKey) => readonly KubeObject[];
  readonly record: (regarding: KubeObject, events: readonly PlannedEvent[], signal: AbortSignal) => Promise<void>;
  /** The server did not take the status of this resource, so that nobody can read there why. */
  readonly onStatusRefused: (key: ObjectKey, error: Error) => void;
  /** Ask the pods of this server at this interval. */
  readonly followPods: (owner: ObjectKey, uid: string, everyMs: number) => void;
  /** Do not ask them any more. */
  readonly forget: (key: ObjectKey) => void;
}

/** What a user must mend is looked at again now and then, in case no event tells that it was mended. */
const slowRetryMs = 60_000;

/** read → resolve → plan → apply → report. Throws what another attempt may overcome. */
export const reconcile = async (
  kind: ReconciledKind,
  key: ObjectKey,
  world: World,
  signal: AbortSignal,
): Promise<{ readonly againAfterMs?: number }> => {
  const owner = world.cache.get(key);
  if (owner === undefined || owner.metadata.deletionTimestamp !== undefined) {
    world.forget(key);
    return {};
  }
  const bundle = kind.resolve(world.source, key);
  if (bundle === undefined) {
    return {};
  }
  const plan = kind.plan(bundle, world.settings);
  const problem = await apply(kind, owner, plan, { world, signal });
  return report(kind, owner, { plan, problem }, { world, signal });
};

interface Effects {
  readonly world: World;
  readonly signal: AbortSignal;
}

const apply = async (
  kind: ReconciledKind,
  owner: KubeObject,
  plan: Plan,
  { world, signal }: Effects,
): Promise<ChildProblem | undefined> => {
  if (plan.pullStatusEveryMs === undefined) {
    world.forget(keyOf(owner));
  } else {
    world.followPods(keyOf(owner), owner.metadata.uid ?? '', plan.pullStatusEveryMs);
  }
  if (plan.objects === undefined) {
    return undefined;
  }
  const problem = await applyChildren(owner, plan.objects, world, signal);
  if (problem !== undefined) {
    return problem;
  }
  await prune(owner, { kinds: kind.owns, objects: plan.objects }, world, signal);
  await refreshMounts(kind, owner, { world, signal });
  return undefined;
};

/** Only servers have pods that mount what is rendered for them. */
const refreshMounts = async (kind: ReconciledKind, owner: KubeObject, { world, signal }: Effects): Promise<void> => {
  if (!kind.owns.includes('ConfigMap')) {
    return;
  }
  const configMaps = world.cache.controlledBy('ConfigMap', owner);
  const pods = world.podsOf(keyOf(owner));
  await markPods(podsToMark(configMaps, pods), world, signal);
};

const report = async (
  kind: ReconciledKind,
  owner: KubeObject,
  done: { readonly plan: Plan; readonly problem: ChildProblem | undefined },
  { world, signal }: Effects,
): Promise<{ readonly againAfterMs?: number }> => {
  const { plan, problem } = done;
  if (plan.status === undefined) {
    return {};
  }
  const status = withProblem(plan.status, problem);
  const planned = { status, volatile: kind.volatileStatus ?? [] };
  const deps = { api: world.api, cache: world.cache, nowMs: world.now() };
  const reported = await reportStatus(owner, planned, deps, signal);
  if (reported.written) {
    const events = [...plan.events, ...(problem === undefined ? [] : [{ ...problem, type: 'Warning' as const }])];
    await world.record(owner, transitions(events, owner['status'], status), signal);
  }
  if (reported.refused !== undefined) {
    world.onStatusRefused(keyOf(owner), reported.refused);
  }
  const isStuck = problem !== undefined || reported.refused !== undefined;
  const delays = [reported.againAfterMs, isStuck ? slowRetryMs : undefined].filter((ms) => ms !== undefined);
  return delays.length === 0 ? {} : { againAfterMs: Math.min(...delays) };
};
