import { agrees } from './diff.ts';
import { handOverReplicas } from './hand-over.ts';
import { isRefusal } from '../api/errors.ts';
import type { ApiClient } from '../api/client.ts';
import type { Cache } from '../engine/cache.ts';
import { keyOf, keyText } from '../object.ts';
import type { KubeObject } from '../object.ts';
import { hashOf } from '../plan/canonical.ts';

/** Why a child is not as planned although trying again at once would not help; a value, because it belongs into the status. */
export interface ChildProblem {
  readonly type: 'ChildConflict' | 'ChildRefused';
  /** CamelCase. */
  readonly reason: string;
  readonly message: string;
}

export interface ApplyDeps {
  readonly api: Pick<ApiClient, 'get' | 'apply'>;
  readonly cache: Pick<Cache, 'get' | 'put'>;
  /** Remembers what the server stores in another form than we send it. */
  readonly rewrites: Rewrites;
}

/**
 * Makes the children what the plan says, in its order, and stops at the first that cannot be: later ones may lean on it.
 * Sends nothing for a child that already agrees. Throws what may pass by itself.
 */
export const applyChildren = async (
  owner: KubeObject,
  children: readonly KubeObject[],
  deps: ApplyDeps,
  signal: AbortSignal,
): Promise<ChildProblem | undefined> => {
  for (const child of children) {
    const problem = await applyChild(owner, child, deps, signal);
    if (problem !== undefined) {
      return problem;
    }
  }
  return undefined;
};

const applyChild = async (
  owner: KubeObject,
  child: KubeObject,
  deps: ApplyDeps,
  signal: AbortSignal,
): Promise<ChildProblem | undefined> => {
  const key = keyOf(child);
  const cached = deps.cache.get(key);
  // decisions: ownership. What the cache lacks may exist all the same: watched are only objects with our label.
  const existing = cached ?? (await deps.api.get(key, signal));
  if (existing !== undefined && !isOwnedBy(existing, owner)) {
    return foreign(existing);
  }
  if (existing?.metadata.deletionTimestamp !== undefined) {
    // Its removal is an event, and then it is made anew.
    return undefined;
  }
  if (cached !== undefined && (agrees(child, cached) || deps.rewrites.areKnown(child, cached))) {
    return undefined;
  }
  try {
    if (cached !== undefined) {
      await handOverReplicas(child, cached, deps.api, signal);
    }
    const applied = await deps.api.apply(pinned(child, existing), signal);
    deps.cache.put(applied);
    // Deleted meanwhile, it is not held; nothing would ever forget what is noted of it.
    if (deps.cache.get(key)?.metadata.uid === applied.metadata.uid) {
      deps.rewrites.note(child, applied);
    }
    return undefined;
  } catch (error) {
    if (isRefusal(error)) {
      return { type: 'ChildRefused', reason: error.reason, message: `${keyText(key)}: ${error.message}` };
    }
    throw error;
  }
};

/** With its uid an object is not applied to a namesake that took its place meanwhile. */
const pinned = (child: KubeObject, existing: KubeObject | undefined): KubeObject =>
  existing?.metadata.uid === undefined
    ? child
    : { ...child, metadata: { ...child.metadata, uid: existing.metadata.uid } };

const isOwnedBy = (object: KubeObject, owner: KubeObject): boolean =>
  object.metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) === true;

const foreign = (existing: KubeObject): ChildProblem => {
  const owner = existing.metadata.ownerReferences?.find(({ controller }) => controller === true);
  const belongs = owner === undefined ? 'is not owned by this resource' : `belongs to ${owner.kind} ${owner.name}`;
  return {
    type: 'ChildConflict',
    reason: 'ChildConflict',
    message: `${existing.kind} ${existing.metadata.name} exists already and ${belongs}; delete it, or give this resource another name`,
  };
};

/**
 * What the server (or a webhook in it) makes of an object can differ for good from what was sent. Each such answer is
 * remembered for the object's uid, so that it is sent once and not at every look.
 */
export class Rewrites {
  readonly #known = new Map<string, string>();

  note(sent: KubeObject, stored: KubeObject): void {
    const uid = stored.metadata.uid ?? '';
    if (agrees(sent, stored)) {
      this.#known.delete(uid);
    } else {
      this.#known.set(uid, fingerprint(sent, stored));
    }
  }

  areKnown(sent: KubeObject, stored: KubeObject): boolean {
    return this.#known.get(stored.metadata.uid ?? '') === fingerprint(sent, stored);
  }

  /** The object is gone. */
  forget(uid: string): void {
    this.#known.delete(uid);
  }
}

/** Status and annotations are left out: others write there all the time. */
const fingerprint = (sent: KubeObject, stored: KubeObject): string => {
  const { metadata, status: _, ...content } = stored;
  return hashOf([sent, content, metadata.labels, metadata.ownerReferences]);
};
