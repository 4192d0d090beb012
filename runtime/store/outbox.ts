import { STORE_LIMITS } from './store.ts';

const MIB = 1024 * 1024;

/** Bytes that may wait for the store; a message beyond them is refused, but one message alone may be larger. */
export const OUTBOX_LIMITS = Object.freeze({
  /** Bytes of one session. */
  sessionBytes: MIB,
  /** Bytes of all sessions. Store commands wait behind them, so they must be sent within the commands' deadline. */
  bytes: STORE_LIMITS.messageBytes,
});

/** Approximate cost of a message beside its bytes. */
const MESSAGE_BYTES = 1024;

/** Counts the bytes that wait for the store. */
export class Outbox {
  readonly #waiting = new Map<string, number>();
  #bytes = 0;

  /**
   * Counts a message of `length` bytes. Returns the function to call once the store has taken it; undefined: there is
   * no room.
   */
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
