import type { BackendTarget, Call } from '../call.ts';
import { unknownState } from '../questions.ts';
import type { Fetch } from '../outgoing/index.ts';
import type { Backend } from './backend.ts';
import type { GatewayLink } from './gateway-link.ts';
import { NoSessionError } from './handshake.ts';
import { callWithoutSession, legacyCall } from './legacy-call.ts';
import { callModern } from './modern-call.ts';
import type { ModernLink } from './modern-link.ts';
import { HopMeta } from './request-edits.ts';
import type { BackendSession } from './session.ts';
import { emptyResponse } from './small-messages.ts';

export interface BackendCallsDeps {
  readonly backend: Backend;
  /** JSON text. */
  readonly clientInfo: string;
  readonly own: GatewayLink;
  /** Longest silence of a call. */
  readonly silenceMs: () => number;
}

export interface Sending {
  readonly target: BackendTarget;
  /** Speaks for the caller. */
  readonly fetch: Fetch;
}

/** The way of calls to one backend: over a session of the caller's, or in 2026-07-28 each by itself. */
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
   * The backend's response. A backend of both eras is spoken to in the client's own (decisions, "Same era first"), so that a tool that asks
   * in the middle of its call, or keeps something for its session, works as it does without a gateway. One that keeps no session can do
   * neither, and in 2026-07-28 it can at least ask.
   */
  async send(call: Call, sending: Sending): Promise<Buffer> {
    const { modern } = this.#deps.own;
    if (!modern) return this.#legacy(call, sending);
    if (call.client.era === 'modern' || this.#deps.own.hasSessions === false)
      return this.#modern(modern, call, sending);
    try {
      return await this.#inSession(call, sending, 'kept');
    } catch (error) {
      if (!(error instanceof NoSessionError)) throw error;
      this.#deps.own.hasSessions = false;
      void call.links.to(this.#deps.backend).close();
      return this.#modern(modern, call, sending);
    }
  }

  #legacy(call: Call, sending: Sending): Promise<Buffer> {
    if (call.names === 'task') throw this.#deps.own.withoutTasks();
    // Its revision knows none.
    if (call.answered?.state !== undefined) throw unknownState();
    return call.client.era === 'legacy' ? this.#inSession(call, sending) : this.#withoutSession(call, sending);
  }

  #inSession(call: Call, sending: Sending, session?: 'kept'): Promise<Buffer> {
    return call.links.to(this.#deps.backend).request({ ...this.#asked(call, sending), session });
  }

  #withoutSession(call: Call, sending: Sending): Promise<Buffer> {
    return callWithoutSession(this.#asked(call, sending), {
      session: () => call.links.to(this.#deps.backend),
      onOver: () => {
        this.#shared = undefined;
      },
      newId: () => {
        this.#sequence += 1;
        return Buffer.from(`"vmcp-call-${this.#sequence}"`);
      },
    });
  }

  #asked(call: Call, { target, fetch }: Sending) {
    return legacyCall(call, target.ownName, { silenceMs: this.#deps.silenceMs(), fetch });
  }

  /** The session that all callers without one use, where the backend keeps none. */
  get shared(): BackendSession | undefined {
    return this.#shared;
  }

  /** Takes over a session that its caller is done with. False when it is of no use to others. */
  share(session: BackendSession): boolean {
    if (this.#shared || !session.share()) return false;
    this.#shared = session;
    return true;
  }

  async #modern(link: ModernLink, call: Call, { target, fetch }: Sending): Promise<Buffer> {
    const { backend, silenceMs } = this.#deps;
    // A client of an earlier revision subscribes; here one listens.
    if (call.method === 'resources/subscribe' || call.method === 'resources/unsubscribe') {
      await call.links.watch(backend, call);
      return emptyResponse(call.request.id);
    }
    return callModern(call, target, { backend: backend.name, link, meta: this.#meta, silenceMs: silenceMs(), fetch });
  }
}
