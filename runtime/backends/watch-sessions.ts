import { clientKey, type Caller, type SessionClient } from '../call.ts';
import { VmcpError } from '../errors.ts';
import type { Fetch } from '../outgoing/index.ts';
import { nobody } from './call-stream.ts';
import { updatedUri } from './modern-listening.ts';
import { readServerMessage } from './server-message.ts';
import type { BackendSession } from './session.ts';
import { subscribeRequest, unsubscribeRequest } from './small-messages.ts';

/** What of a session is used here. */
export type SubscribingSession = Pick<BackendSession, 'request' | 'close'>;

export interface WatchSessionsDeps {
  readonly backend: string;
  /** A session that nothing has been sent on yet. */
  readonly openSession: (client: SessionClient) => SubscribingSession;
  readonly fetchFor: (caller: Caller) => Fetch;
  /** For the backend to take a subscription. */
  readonly timeoutMs: () => number;
}

interface WatchSession {
  readonly session: SubscribingSession;
  readonly watcher: Watcher;
}

/** Whom a session is for: it is there to hear of resources, and nothing else. */
interface Watcher extends SessionClient {
  /** By the token that was presented last. */
  caller: Caller;
  /** What to do about an update, by URI. */
  readonly uris: Map<string, () => void>;
}

/** Subscriptions at a backend of a revision before 2026-07-28, for clients that listen instead: one session for each client of a user. */
export class WatchSessions {
  readonly #deps: WatchSessionsDeps;
  readonly #sessions = new Map<string, WatchSession>();
  #sequence = 0;
  #isOver = false;

  constructor(deps: WatchSessionsDeps) {
    this.#deps = deps;
  }

  /** Subscribes, once for each URI. Throws VmcpError when the backend does not take it; resolves to how to end it. */
  async subscribe(uri: string, caller: Caller, onUpdated: () => void): Promise<() => void> {
    const key = clientKey(caller);
    const watching = this.#sessions.get(key) ?? this.#open(key, caller);
    const { watcher } = watching;
    watcher.caller = caller;
    watcher.uris.set(uri, onUpdated);
    const end = (): void => {
      // Somebody else may have begun to watch it meanwhile.
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

  /** Its sessions end by themselves: nothing is taken back one by one any more. */
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
      silenceMs: timeoutMs(),
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
    ask: (...asked) => nobody.ask(...asked),
  };
};
