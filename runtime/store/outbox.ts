import { STORE_LIMITS } from './store.ts';

const MIB = 1024 * 1024;

/** Bytes that wait to be taken by the store, beyond which nothing is added; one message alone may be larger. */
export const OUTBOX_LIMITS = Object.freeze({
  /** Of one session. */
  sessionBytes: MIB,
  /** Commands of all sessions wait behind so much: below their deadline over any network that is fit for a store. */
  bytes: STORE_LIMITS.messageBytes,
});

/** What a command costs beside its bytes, roughly. */
const MESSAGE_BYTES = 1024;

/** How much waits to be taken by the store. */
export class Outbox {
  readonly #waiting = new Map<string, number>();
  #bytes = 0;

  /** How to tell that it has been taken; undefined: there is no room. */
  enter(session: string, length: number): (() => void) | undefined {
    const bytes = MESSAGE_BYTES + length;
    const waiting = this.#waiting.get(session) ?? 0;
    if (waiting > 0 && waiting + bytes > OUTBOX_LIMITS.sessionBytes) return undefined;
    if (this.#bytes > 0 && this.#bytes + bytes > OUTBOX_LIMITS.bytes) return undefined;
    this.#change(session, bytes);
    return () => this.#change(session, -bytes);
  }

  #change(session: string, by: number): void {
    const waiting = (this.#waiting.get(session) ?? 0) + by;
    this.#bytes += by;
    if (waiting === 0) this.#waiting.delete(session);
    else this.#waiting.set(session, waiting);
  }
}
