import type { Admit } from './admission.ts';
import type { BackendSet } from './backends/index.ts';
import type { Caller } from './call.ts';

/** Who wants to hear of a resource. */
export interface ResourceListener {
  readonly onUpdated: () => void;
  /** From now on nothing is told of it, since its backend is no longer served. */
  readonly onEnd: () => void;
}

export interface Watching {
  /** False when it will not be told of: the backend has refused, does not answer, or too much is watched there. */
  readonly isHeard: Promise<boolean>;
  readonly stop: () => void;
}

/** Undefined where no backend owns the resource, and where this caller may not hear of it. */
export type WatchResource = (uri: string, caller: Caller, listener: ResourceListener) => Promise<Watching | undefined>;

/** Listens at the backend that owns a resource, for a caller who may. */
export const resourceWatcher =
  (admit: Admit, backends: Pick<BackendSet, 'watch'>): WatchResource =>
  async (uri, caller, listener) => {
    try {
      const target = await admit({
        caller,
        method: 'subscriptions/listen',
        names: 'resource',
        name: uri,
        origin: 'client',
      });
      return target.kind === 'backend' ? backends.watch(target, { uri, caller }, listener) : undefined;
    } catch {
      // Not now, or not for this caller: it is not acknowledged.
      return undefined;
    }
  };
