import type { Backend } from './backend.ts';
import type { BackendSession } from './session.ts';

/** The warm backend sessions of one client session: at most one per backend, opened when first needed. */
export class SessionLinks {
  readonly #sessions = new Map<Backend, BackendSession>();
  #isClosed = false;

  to(backend: Backend): BackendSession {
    const known = this.#sessions.get(backend);
    if (known) return known;
    const session = backend.openSession(() => this.#sessions.delete(backend));
    this.#sessions.set(backend, session);
    // A call may still be on its way when its client session has just ended: its backend session lives for that call only.
    if (this.#isClosed) queueMicrotask(() => void session.close());
    return session;
  }

  /** Ends the backend sessions after their calls. Never throws. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#sessions.values()].map((session) => session.close()));
  }
}
