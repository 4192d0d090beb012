import { clientKey, type Caller, type Watching, type ResourceListener } from '../../call/index.ts';
import { VmcpError } from '../../errors.ts';

export interface ResourceWatchesDeps {
  /** Resources that are watched at one time, each counted once for each caller. */
  readonly limit: number;
  /** Subscribes to a resource as a caller. */
  readonly begin: (uri: string, caller: Caller, onUpdated: () => void) => Watching;
}

interface Watch {
  readonly listeners: Set<ResourceListener>;
  readonly begun: Watching;
}

/**
 * The watched resources of one backend: each is subscribed to once for each client of a user, however many listeners
 * there are.
 */
export class ResourceWatches {
  readonly #deps: ResourceWatchesDeps;
  readonly #watches = new Map<string, Watch>();
  #isOver = false;

  constructor(deps: ResourceWatchesDeps) {
    this.#deps = deps;
  }

  watch(uri: string, caller: Caller, listener: ResourceListener): Watching {
    const key = JSON.stringify([clientKey(caller), uri]);
    const watch = this.#watches.get(key) ?? this.#begin(key, { uri, caller });
    if (!watch) return full();
    watch.listeners.add(listener);
    const stop = (): void => {
      if (watch.listeners.delete(listener) && watch.listeners.size === 0) this.#end(key, watch);
    };
    return { confirmed: watch.begun.confirmed, stop };
  }

  /** The backend is no longer served. */
  endAll(): void {
    this.#isOver = true;
    for (const [key, watch] of this.#watches) {
      this.#end(key, watch);
      for (const { onEnd } of watch.listeners) onEnd();
    }
  }

  #begin(key: string, { uri, caller }: { readonly uri: string; readonly caller: Caller }): Watch | undefined {
    if (this.#isOver || this.#watches.size >= this.#deps.limit) return undefined;
    const listeners = new Set<ResourceListener>();
    const begun = this.#deps.begin(uri, caller, () => {
      for (const { onUpdated } of listeners) onUpdated();
    });
    const watch = { listeners, begun };
    this.#watches.set(key, watch);
    begun.confirmed.catch(() => this.#forget(key, watch));
    return watch;
  }

  #end(key: string, watch: Watch): void {
    this.#forget(key, watch);
    watch.begun.stop();
  }

  #forget(key: string, watch: Watch): void {
    if (this.#watches.get(key) === watch) this.#watches.delete(key);
  }
}

const full = (): Watching => ({
  confirmed: Promise.reject(
    new VmcpError('busy', 'too many resources are watched at this backend; end a subscription'),
  ),
  stop: () => {},
});
