import type { SessionClient } from '../call.ts';
import type { Backend } from './backend.ts';
import type { BackendSession } from './session.ts';

/** The warm backend sessions of one client session: at most one per backend, opened when first needed. */
export class SessionLinks {
  readonly #sessions = new Map<Backend, BackendSession>();
  readonly #client: SessionClient | undefined;
  #isClosed = false;

  /** Without a client there is nobody whom a backend could ask or tell something. */
  constructor(client?: SessionClient) {
    this.#client = client;
  }

  to(backend: Backend): BackendSession {
    const known = this.#sessions.get(backend);
    if (known) return known;
    const session = backend.openSession({ client: this.#client, onClosed: () => this.#sessions.delete(backend) });
    this.#sessions.set(backend, session);
    // A call may still be on its way when its client session has just ended: its backend session lives for that call only.
    if (this.#isClosed) queueMicrotask(() => void session.close());
    return session;
  }

  /** The client has opened a stream of its own. */
  listen(): void {
    for (const session of this.#sessions.values()) session.listen();
  }

  setLogLevel(level: string): void {
    for (const session of this.#sessions.values()) session.setLogLevel(level);
  }

  /** Tells every backend that has a session open. */
  tell(notification: Buffer): void {
    for (const session of this.#sessions.values()) session.tell(notification);
  }

  /** Ends the backend sessions after their calls. Never throws. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#sessions.values()].map((session) => session.close()));
  }
}
