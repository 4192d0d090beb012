import { type Clock, backoffMs, sleep } from '../../runtime/process/index.ts';
import type { ApiClient } from '../api/client.ts';
import { ApiError, isExpired } from '../api/errors.ts';
import { OUTLINED, type Selection } from '../api/selection.ts';
import type { KubeObject } from '../object.ts';
import { outlineOf } from './held-metadata.ts';
import type { Store } from './store.ts';
import { cacheable } from './trim.ts';

export interface InformerDeps {
  readonly api: Pick<ApiClient, 'list' | 'watch'>;
  readonly clock: Clock;
  readonly random: () => number;
  /** Returns what the cache holds of an object, given what it holds already. Default: all of it. */
  readonly admit?: (object: KubeObject) => KubeObject;
  /** Called for every failure; the informer continues by itself. */
  readonly onFailure: (selection: Selection, error: unknown) => void;
}

const retry = { baseMs: 500, maxMs: 30_000 };

/** A server that was restored from a backup refuses versions of its lost future, without a word of its own for it. */
const refusalsBeforeList = 3;

/** A watch that lived this long was a good one: the next failure starts again from the shortest delay. */
const healthyMs = 10_000;

/**
 * Keeps `store` equal to the selected objects until `signal` is aborted, whatever happens to the connection: list,
 * watch with bookmarks, go on from the last version seen, list again only when the server has forgotten that version or
 * keeps on refusing it. Resolves `synced` after the first list.
 */
export const inform = (
  selection: Selection,
  store: Store,
  deps: InformerDeps,
  signal: AbortSignal,
): { readonly synced: Promise<void>; readonly ended: Promise<void> } => {
  const { promise: synced, resolve: markSynced } = Promise.withResolvers<void>();
  return { synced, ended: follow(selection, { store, markSynced }, deps, signal) };
};

interface Target {
  readonly store: Store;
  readonly markSynced: () => void;
}

const follow = async (selection: Selection, target: Target, deps: InformerDeps, signal: AbortSignal): Promise<void> => {
  const keep = kept(deps);
  let version: string | undefined;
  let failures = 0;
  let refusals = 0;
  while (!signal.aborted) {
    const startedAt = deps.clock.now();
    try {
      version ??= await relist(selection, target, deps, signal);
      for await (const event of deps.api.watch(selection, version, signal)) {
        version = event.object.metadata.resourceVersion ?? version;
        if (event.type === 'DELETED') {
          target.store.remove(event.object);
        } else if (event.type !== 'BOOKMARK') {
          target.store.put(keep(event.object));
        }
        target.store.observedUpTo(selection.namespace, version);
      }
      failures = 0;
      refusals = 0;
    } catch (error) {
      if (signal.aborted) {
        return;
      }
      refusals = error instanceof ApiError ? refusals + 1 : 0;
      version = isExpired(error) || (refusals % refusalsBeforeList === 0 && refusals > 0) ? undefined : version;
      failures = deps.clock.now() - startedAt > healthyMs ? 1 : failures + 1;
      deps.onFailure(selection, error);
    }
    // A server that ends watches at once without an error must not be asked in a tight loop either.
    const isShort = deps.clock.now() - startedAt < healthyMs;
    await sleep(deps.clock, isShort ? backoffMs(Math.max(1, failures), retry, deps.random) : 0, signal);
  }
};

/** The part of an object that the store keeps. */
const kept =
  ({ admit = (object) => object }: Pick<InformerDeps, 'admit'>) =>
  (object: KubeObject): KubeObject =>
    admit(OUTLINED.has(object.kind) ? outlineOf(object) : cacheable(object));

const relist = async (
  selection: Selection,
  target: Target,
  deps: InformerDeps,
  signal: AbortSignal,
): Promise<string> => {
  const list = await deps.api.list(selection, signal, kept(deps));
  target.store.replace(list.items, selection.namespace, list.resourceVersion);
  target.markSynced();
  return list.resourceVersion;
};
