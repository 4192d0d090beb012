import { clientKey, type Caller, type SessionClient } from '../../call/index.ts';
import { VmcpError } from '../../errors.ts';
import type { Fetch } from '../../outgoing/index.ts';
import { noClient } from '../messages/call-stream.ts';
import { readServerMessage, updatedUri } from '../messages/server-message.ts';
import type { BackendSession } from '../session/session.ts';
import { subscribeRequest, unsubscribeRequest } from '../messages/small-messages.ts';

/** The part of a backend session that is used here. */
export type SubscribingSession = Pick<BackendSession, 'request' | 'close'>;

export interface WatchSessionsDeps {
  readonly backend: string;
  /** Makes a session; nothing is sent before its first request. */
  readonly openSession: (client: SessionClient) => SubscribingSession;
  readonly fetchFor: (caller: Caller) => Fetch;
  /** Time for the backend to accept a subscription. */
  readonly timeoutMs: () => number;
}

interface WatchSession {
  readonly session: SubscribingSession;
  readonly watcher: Watcher;
}

/** The client of such a session: it only receives updates of resources. */
interface Watcher extends SessionClient {
  /** By the token presented last. */
  caller: Caller;
  /** Called on an update, by URI. */
  readonly uris: Map<string, () => void>;
}

/**
 * Subscriptions at a backend of a revision before 2026-07-28, for clients that listen instead: one session for each
 * client of a user.
 */
export class WatchSessions {
  readonly #deps: WatchSessionsDeps;
  readonly #sessions = new Map<string, WatchSession>();
  #sequence = 0;
  #isOver = false;

  constructor(deps: WatchSessionsDeps) {
    this.#deps = deps;
  }

  /**
   * Subscribes, once for each URI. Resolves with the function that unsubscribes; throws VmcpError when the backend does
   * not accept the subscription.
   */
  async subscribe(uri: string, caller: Caller, onUpdated: () => void): Promise<() => void> {
    const key = clientKey(caller);
    const watching = this.#sessions.get(key) ?? this.#open(key, caller);
    const { watcher } = watching;
    watcher.caller = caller;
    watcher.uris.set(uri, onUpdated);
    const end = (): void => {
      // Another listener may have subscribed to the URI meanwhile.
      if (watcher.uris.get(uri) === onUpdated) this.#unsubscribe(uri, key, watching);
    };
    try {
      await this.#send('begins', uri, watching);
      return end;
    } catch (error) {
      end();
      throw error;
    }
  }

  /** The backend's sessions are being closed: subscriptions are no longer ended one by one. */
  end(): void {
    this.#isOver = true;
  }

  #open(key: string, caller: Caller): WatchSession {
    const watcher = watcherFor(caller);
    const watching = { session: this.#deps.openSession(watcher), watcher };
    this.#sessions.set(key, watching);
    return watching;
  }

  #unsubscribe(uri: string, key: string, watching: WatchSession): void {
    const { uris } = watching.watcher;
    uris.delete(uri);
    if (this.#isOver) return;
    if (uris.size > 0) return void this.#send('ends', uri, watching).catch(() => {});
    if (this.#sessions.get(key) === watching) this.#sessions.delete(key);
    void watching.session.close();
  }

  async #send(kind: 'begins' | 'ends', uri: string, { session, watcher }: WatchSession): Promise<void> {
    const { backend, fetchFor, timeoutMs } = this.#deps;
    this.#sequence += 1;
    const id = Buffer.from(`"vmcp-watch-${this.#sequence}"`);
    const subscription = { kind, uri: JSON.stringify(uri) };
    const answer = await session.request({
      bytes: (kind === 'begins' ? subscribeRequest : unsubscribeRequest)(subscription.uri, id),
      id,
      subscription,
      idleTimeoutMs: timeoutMs(),
      isDeadline: true,
      fetch: fetchFor(watcher.caller),
    });
    if (readServerMessage(answer)?.kind !== 'response')
      throw new VmcpError('backend_unavailable', `backend "${backend}" does not take the subscription`);
  }
}

const watcherFor = (caller: Caller): Watcher => {
  const uris = new Map<string, () => void>();
  return {
    caller,
    uris,
    capabilities: Buffer.from('{}'),
    logLevel: undefined,
    isListening: true,
    notify: (notification) => {
      const uri = updatedUri(notification);
      if (typeof uri === 'string') uris.get(uri)?.();
    },
    ask: (...asked) => noClient.ask(...asked),
  };
};
