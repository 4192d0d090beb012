import { callerKey, type Caller, type SessionClient } from '../call.ts';
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
  /** What to do about an update, by URI. */
  readonly uris: Map<string, () => void>;
}

/** Subscriptions at a backend of a revision before 2026-07-28, for clients that listen instead: one session for each caller. */
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
    const key = callerKey(caller);
    const watching = this.#sessions.get(key) ?? this.#open(key);
    watching.uris.set(uri, onUpdated);
    const end = (): void => {
      // Somebody else may have begun to watch it meanwhile.
      if (watching.uris.get(uri) === onUpdated) this.#unsubscribe(uri, { key, caller, watching });
    };
    try {
      await this.#send('begins', uri, { caller, watching });
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

  #open(key: string): WatchSession {
    const uris = new Map<string, () => void>();
    const watching = { session: this.#deps.openSession(watcher(uris)), uris };
    this.#sessions.set(key, watching);
    return watching;
  }

  #unsubscribe(
    uri: string,
    { key, caller, watching }: { readonly key: string; readonly caller: Caller; readonly watching: WatchSession },
  ): void {
    watching.uris.delete(uri);
    if (this.#isOver) return;
    if (watching.uris.size > 0) return void this.#send('ends', uri, { caller, watching }).catch(() => {});
    if (this.#sessions.get(key) === watching) this.#sessions.delete(key);
    void watching.session.close();
  }

  async #send(
    kind: 'begins' | 'ends',
    uri: string,
    { caller, watching }: { readonly caller: Caller; readonly watching: WatchSession },
  ): Promise<void> {
    const { backend, fetchFor, timeoutMs } = this.#deps;
    this.#sequence += 1;
    const id = Buffer.from(`"vmcp-watch-${this.#sequence}"`);
    const subscription = { kind, uri: JSON.stringify(uri) };
    const answer = await watching.session.request({
      bytes: (kind === 'begins' ? subscribeRequest : unsubscribeRequest)(subscription.uri, id),
      id,
      subscription,
      silenceMs: timeoutMs(),
      isDeadline: true,
      fetch: fetchFor(caller),
    });
    if (readServerMessage(answer)?.kind !== 'response')
      throw new VmcpError('backend_unavailable', `backend "${backend}" does not take the subscription`);
  }
}

/** The one whom the session is for: it is there to hear of the resources, and nothing else. */
const watcher = (uris: ReadonlyMap<string, () => void>): SessionClient => ({
  capabilities: Buffer.from('{}'),
  logLevel: undefined,
  isListening: true,
  notify: (notification) => {
    const uri = updatedUri(notification);
    if (typeof uri === 'string') uris.get(uri)?.();
  },
  ask: (...asked) => nobody.ask(...asked),
});
