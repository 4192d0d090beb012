import type { Caller, SessionClient, ResourceListener, Watching } from '../../call/index.ts';
import { atMost, type Clock } from '../../process/index.ts';
import { VmcpError } from '../../errors.ts';
import type { Fetch } from '../../outgoing/index.ts';
import { type FirstAnswer, type ModernListening, type ModernStream, namesIn } from '../stateless/listen.ts';
import { updatedUri } from '../messages/server-message.ts';
import type { CircuitBreaker } from '../discovery/circuit-breaker.ts';
import { ResourceWatches } from './resource-watches.ts';
import type { BackendSession } from '../session/session.ts';
import { WatchSessions } from './watch-sessions.ts';

export interface BackendWatchesDeps {
  readonly backend: string;
  readonly clock: Clock;
  /** Resources that are watched at one time, each counted once for each caller. */
  readonly limit: number;
  /** Longest silence of a call. */
  readonly idleTimeoutMs: () => number;
  readonly isModern: () => boolean;
  readonly circuit: Pick<CircuitBreaker, 'isClosed' | 'refusal'>;
  /** Makes a session; nothing is sent before its first request. */
  readonly openSession: (client: SessionClient) => BackendSession;
  readonly fetchFor: (caller: Caller) => Fetch;
  readonly listen: (caller: Caller, what: Pick<ModernListening, 'filter' | 'notify'>) => ModernStream;
}

/** Time for a backend to accept a subscription: the client's request to listen waits for it. */
const WATCH_MS = 5_000;

/** The resources that clients watch at one backend, whatever its revision. */
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

  readonly #begin = (uri: string, caller: Caller, onUpdated: () => void): Watching => {
    const { circuit, isModern } = this.#deps;
    if (!isModern()) {
      if (!circuit.isClosed) return { confirmed: Promise.reject(circuit.refusal()), stop: () => {} };
      const begun = this.#sessions.subscribe(uri, caller, onUpdated);
      return { confirmed: begun.then(() => {}), stop: () => void begun.then((end) => end()).catch(() => {}) };
    }
    const { firstAnswer, stop } = this.#deps.listen(caller, {
      filter: JSON.stringify({ resourceSubscriptions: [uri] }),
      notify: (notification) => {
        if (updatedUri(notification) === uri) onUpdated();
      },
    });
    return { confirmed: this.#confirm(firstAnswer, stop), stop };
  };

  async #confirm(firstAnswer: Promise<FirstAnswer>, stop: () => void): Promise<void> {
    const isInTime = await atMost(this.#deps.clock, this.#timeoutMs(), firstAnswer);
    const answer = isInTime ? await firstAnswer : 'none';
    if (answer === 'none' || (answer !== 'refused' && acceptsResources(answer))) return;
    stop();
    throw new VmcpError('backend_unavailable', `backend "${this.#deps.backend}" does not tell of the resource`);
  }

  readonly #timeoutMs = (): number => Math.min(WATCH_MS, this.#deps.idleTimeoutMs());
}

/** Only one resource was requested, so its URI is not compared: a server may spell it differently. */
const acceptsResources = ({ filter }: { readonly filter: unknown }): boolean =>
  namesIn(filter, 'resourceSubscriptions').length > 0;
