import { type CancelSignal, Cancellation } from '../process/index.ts';
import { VmcpError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { requestKey } from './request-id.ts';

/** Sends the client a whole JSON-RPC message beside the answer of its call; false when the stream is closed. */
export interface CallStream {
  readonly send: (message: Buffer) => boolean;
}

export interface CallBounds {
  /** Calls of one session under way at a time, at least 1; further calls wait. May change. */
  readonly calls: number;
}

/** A call that has begun. */
export interface BegunCall {
  readonly signal: CancelSignal;
  /** Resolves once there is room for the call; undefined where there is. Rejects with the reason of `signal`. */
  readonly turn: Promise<void> | undefined;
  /** Must be called once when the call is over, whether it had its turn or not. */
  readonly end: () => void;
}

interface Known {
  readonly cancellation: Cancellation;
  readonly stream: CallStream;
  hasRoom: boolean;
}

/** The calls of one session that are under way, and those that wait for their turn. Ids are JSON text. */
export class CallsUnderWay {
  readonly #bounds: CallBounds;
  readonly #onEnd: () => void;
  /** By their request key. */
  readonly #calls = new Map<string, Known>();
  #running = 0;
  /** Oldest first. */
  readonly #waiting = new Map<Known, () => void>();

  /** `onEnd` runs after each call that is over. */
  constructor(bounds: CallBounds, onEnd: () => void = () => {}) {
    this.#bounds = bounds;
    this.#onEnd = onEnd;
  }

  get size(): number {
    return this.#calls.size;
  }

  /** Throws `not_json_rpc` when a call with the same id is still under way, `busy` when too many calls wait. */
  begin(id: Buffer, stream: CallStream): BegunCall {
    const key = requestKey(id);
    // MCP "Requests": an id must not be used twice in a session. Answers and cancellations could not be told apart.
    if (this.#calls.has(key)) throw new VmcpError('not_json_rpc', '"id" is that of a request still under way');
    const hasRoom = this.#running < this.#bounds.calls;
    if (!hasRoom && this.#waiting.size >= LIMITS.waitingCallsPerSession)
      throw new VmcpError('busy', `this session has ${this.#calls.size} calls under way; wait for one of them`);
    const cancellation = new Cancellation();
    const call: Known = { cancellation, stream, hasRoom };
    this.#calls.set(key, call);
    if (hasRoom) this.#running += 1;
    return { signal: cancellation, turn: hasRoom ? undefined : this.#turnOf(call), end: () => this.#end(key, call) };
  }

  #turnOf(call: Known): Promise<void> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        this.#waiting.delete(call);
        reject(call.cancellation.reason);
      };
      call.cancellation.addEventListener('abort', giveUp);
      this.#waiting.set(call, () => {
        call.cancellation.removeEventListener('abort', giveUp);
        call.hasRoom = true;
        this.#running += 1;
        resolve();
      });
    });
  }

  #end(key: string, call: Known): void {
    this.#calls.delete(key);
    if (call.hasRoom) this.#running -= 1;
    if (this.#waiting.size > 0) this.#takeTurns();
    this.#onEnd();
  }

  #takeTurns(): void {
    for (const [call, begin] of this.#waiting) {
      if (this.#running >= this.#bounds.calls) return;
      this.#waiting.delete(call);
      begin();
    }
  }

  /** False when there is no call with this id. */
  cancel(id: Buffer, reason: VmcpError): boolean {
    const call = this.#calls.get(requestKey(id));
    call?.cancellation.abort(reason);
    return call !== undefined;
  }

  cancelAll(reason: VmcpError): void {
    for (const { cancellation } of this.#calls.values()) cancellation.abort(reason);
  }

  /** Sends a message on the stream of any call under way; false when none is open. */
  send(message: Buffer): boolean {
    for (const { stream } of this.#calls.values()) if (stream.send(message)) return true;
    return false;
  }
}
