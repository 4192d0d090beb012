import { type BackendTarget, type Call, unknownState } from '../call/index.ts';
import type { Fetch } from '../outgoing/index.ts';
import type { ControlClient } from './discovery/control-client.ts';
import { NoSessionError } from './session/handshake.ts';
import { callWithoutSession, legacyCall } from './session/call.ts';
import { callModern } from './stateless/call.ts';
import type { StatelessClient } from './stateless/stateless-client.ts';
import { HopMeta } from './messages/request-edits.ts';
import { type SessionBackend, sessionsOf } from './session/client-sessions.ts';
import type { BackendSession } from './session/session.ts';
import { emptyResponse } from './messages/small-messages.ts';

export interface BackendCallsDeps {
  readonly backend: SessionBackend;
  /** JSON text. */
  readonly clientInfo: string;
  readonly controlClient: ControlClient;
  /** Longest silence of a call. */
  readonly idleTimeoutMs: () => number;
}

export interface Sending {
  readonly target: BackendTarget;
  /** Sends as the caller. */
  readonly fetch: Fetch;
}

/** Sends calls to one backend: in a session of the caller's, or in 2026-07-28 as single requests. */
export class BackendCalls {
  readonly #deps: BackendCallsDeps;
  readonly #meta: HopMeta;
  #shared: BackendSession | undefined;
  #sequence = 0;

  constructor(deps: BackendCallsDeps) {
    this.#deps = deps;
    this.#meta = new HopMeta(deps.clientInfo);
  }

  /**
   * The backend's response. A backend of both eras is called in the client's era (docs/decisions.md "Same era first"),
   * so that a tool that sends requests to the client during a call, or keeps state for its session, works as it does
   * without a gateway. A backend that keeps no session can do neither; in 2026-07-28 it can at least ask.
   */
  async send(call: Call, sending: Sending): Promise<Buffer> {
    const { modern } = this.#deps.controlClient;
    if (!modern) return this.#legacy(call, sending);
    if (call.client.era === 'modern' || this.#deps.controlClient.hasSessions === false)
      return this.#modern(modern, call, sending);
    try {
      return await this.#inSession(call, sending, 'kept');
    } catch (error) {
      if (!(error instanceof NoSessionError)) throw error;
      this.#deps.controlClient.hasSessions = false;
      void sessionsOf(call).to(this.#deps.backend).close();
      return this.#modern(modern, call, sending);
    }
  }

  #legacy(call: Call, sending: Sending): Promise<Buffer> {
    if (call.names === 'task') throw this.#deps.controlClient.withoutTasks();
    // The backend's revision has no `requestState`.
    if (call.answered?.state !== undefined) throw unknownState();
    return call.client.era === 'legacy' ? this.#inSession(call, sending) : this.#withoutSession(call, sending);
  }

  #inSession(call: Call, sending: Sending, session?: 'kept'): Promise<Buffer> {
    return sessionsOf(call).request(this.#deps.backend, { ...this.#requestOf(call, sending), session });
  }

  #withoutSession(call: Call, sending: Sending): Promise<Buffer> {
    return callWithoutSession(this.#requestOf(call, sending), {
      session: () => sessionsOf(call).to(this.#deps.backend),
      onOver: () => {
        this.#shared = undefined;
      },
      newId: () => {
        this.#sequence += 1;
        return Buffer.from(`"vmcp-call-${this.#sequence}"`);
      },
    });
  }

  #requestOf(call: Call, { target, fetch }: Sending) {
    return legacyCall(call, target.ownName, { idleTimeoutMs: this.#deps.idleTimeoutMs(), fetch });
  }

  /** The session that all callers without one share, where the backend keeps no sessions. */
  get shared(): BackendSession | undefined {
    return this.#shared;
  }

  /** Shares a session that its caller no longer needs. False when it cannot be shared, or another one is. */
  share(session: BackendSession): boolean {
    if (this.#shared || !session.share()) return false;
    this.#shared = session;
    return true;
  }

  async #modern(link: StatelessClient, call: Call, { target, fetch }: Sending): Promise<Buffer> {
    const { backend, idleTimeoutMs } = this.#deps;
    // A client of an earlier revision subscribes; in 2026-07-28 the gateway listens for it.
    if (call.method === 'resources/subscribe' || call.method === 'resources/unsubscribe') {
      await sessionsOf(call).watch(backend, call);
      return emptyResponse(call.request.id);
    }
    return callModern(call, target, {
      backend: backend.name,
      link,
      meta: this.#meta,
      idleTimeoutMs: idleTimeoutMs(),
      fetch,
    });
  }
}
