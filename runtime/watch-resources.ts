import type { MayHave } from './admission.ts';
import type { BackendSet } from './backends/index.ts';
import type { Caller } from './call.ts';

/** Who wants to hear of a resource. */
export interface ResourceListener {
  readonly onUpdated: () => void;
  /** From now on nothing is told of it, since its backend is no longer served. */
  readonly onEnd: () => void;
}

export interface Watching {
  /**
   * Resolves when the backend tells of it, or does not answer and is asked again. Rejects when it will not be told of:
   * `backend_unavailable`, the backend refuses or cannot be reached; `busy`, too much is watched there.
   */
  readonly heard: Promise<void>;
  readonly stop: () => void;
}

/** Undefined where no backend owns the resource, and where this caller may not hear of it. */
export type WatchResource = (uri: string, caller: Caller, listener: ResourceListener) => Promise<Watching | undefined>;

/** Listens at the backend that owns a resource, for a caller who may. */
export const resourceWatcher =
  (mayHave: MayHave, backends: Pick<BackendSet, 'watch'>): WatchResource =>
  async (uri, caller, listener) => {
    const access = { caller, method: 'subscriptions/listen', names: 'resource', name: uri, origin: 'client' } as const;
    const target = await mayHave(access);
    if (target?.kind !== 'backend') return undefined;
    try {
      return backends.watch(target, { uri, caller }, listener);
    } catch {
      // Its backend has gone meanwhile.
      return undefined;
    }
  };
