import type { Caller, SessionClient } from '../call.ts';
import { atMost, type Clock } from '../clock.ts';
import { VmcpError } from '../errors.ts';
import type { Fetch } from '../outgoing/index.ts';
import type { ResourceListener, Watching } from '../watch-resources.ts';
import type { ModernListening, ModernStream } from './modern-listening.ts';
import { namesIn, updatedUri } from './modern-listening.ts';
import { ResourceWatches } from './resource-watches.ts';
import type { BackendSession } from './session.ts';
import { WatchSessions } from './watch-sessions.ts';

export interface BackendWatchesDeps {
  readonly backend: string;
  readonly clock: Clock;
  /** Resources that are watched at one time, each counted once for each caller. */
  readonly limit: number;
  /** Longest silence of a call. */
  readonly silenceMs: () => number;
  readonly isModern: () => boolean;
  /** A session that nothing has been sent on yet. */
  readonly openSession: (client: SessionClient) => BackendSession;
  readonly fetchFor: (caller: Caller) => Fetch;
  readonly listen: (caller: Caller, what: Pick<ModernListening, 'filter' | 'notify'>) => ModernStream;
}

/** For a backend to take a subscription: whoever begins to listen waits for it. */
const WATCH_MS = 5_000;

/** What clients watch at one backend, whatever its revision. */
export class BackendWatches {
  readonly #deps: BackendWatchesDeps;
  readonly #resources: ResourceWatches;
  readonly #sessions: WatchSessions;

  constructor(deps: BackendWatchesDeps) {
    this.#deps = deps;
    this.#sessions = new WatchSessions({ ...deps, timeoutMs: this.#timeoutMs });
    this.#resources = new ResourceWatches({ limit: deps.limit, begin: this.#begin });
  }

  watch(uri: string, caller: Caller, listener: ResourceListener): Watching {
    return this.#resources.watch(uri, caller, listener);
  }

  /** The backend is no longer served. */
  end(): void {
    this.#sessions.end();
    this.#resources.endAll();
  }

  readonly #begin = async (uri: string, caller: Caller, onUpdated: () => void): Promise<() => void> => {
    if (!this.#deps.isModern()) return this.#sessions.subscribe(uri, caller, onUpdated);
    const { acknowledged, stop } = this.#deps.listen(caller, {
      filter: JSON.stringify({ resourceSubscriptions: [uri] }),
      notify: (notification) => {
        if (updatedUri(notification) === uri) onUpdated();
      },
    });
    if (await this.#isAccepted(acknowledged)) return stop;
    stop();
    throw new VmcpError('backend_unavailable', `backend "${this.#deps.backend}" does not tell of the resource`);
  };

  /** One resource was asked for: a server may write its URI in another way. */
  async #isAccepted(acknowledged: Promise<unknown>): Promise<boolean> {
    const isInTime = await atMost(this.#deps.clock, this.#timeoutMs(), acknowledged);
    return isInTime && namesIn(await acknowledged, 'resourceSubscriptions').length > 0;
  }

  readonly #timeoutMs = (): number => Math.min(WATCH_MS, this.#deps.silenceMs());
}
