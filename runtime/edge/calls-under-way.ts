import { type CancelSignal, Cancellation } from '../cancellation.ts';
import { VmcpError } from '../errors.ts';
import { requestKey } from './request-id.ts';

/** The way to a client beside the answer of its call: a whole JSON-RPC message; false when nobody takes it. */
export interface CallStream {
  readonly send: (message: Buffer) => boolean;
}

/** A call that has begun. */
export interface BegunCall {
  readonly signal: CancelSignal;
  /** Must be called when it is over. */
  readonly end: () => void;
}

/** The calls of one session that are under way. Ids are JSON text. */
export class CallsUnderWay {
  readonly #limit: number;
  readonly #onEnd: () => void;
  /** By their request key. */
  readonly #calls = new Map<string, { readonly cancellation: Cancellation; readonly stream: CallStream }>();

  /** `onEnd` runs after each call that is over. */
  constructor(limit: number, onEnd: () => void = () => {}) {
    this.#limit = limit;
    this.#onEnd = onEnd;
  }

  get size(): number {
    return this.#calls.size;
  }

  /** Throws when one with the same id is still under way, and `busy`. */
  begin(id: Buffer, stream: CallStream): BegunCall {
    const key = requestKey(id);
    // MCP "Requests": an id must not be used twice in a session. Answers and cancellations could not be told apart.
    if (this.#calls.has(key)) throw new VmcpError('not_json_rpc', '"id" is that of a request still under way');
    if (this.#calls.size >= this.#limit)
      throw new VmcpError('busy', `this session has ${this.#limit} calls under way; wait for one of them`);
    const cancellation = new Cancellation();
    this.#calls.set(key, { cancellation, stream });
    const end = (): void => {
      this.#calls.delete(key);
      this.#onEnd();
    };
    return { signal: cancellation, end };
  }

  /** False when there is none with this id. */
  cancel(id: Buffer, reason: VmcpError): boolean {
    const call = this.#calls.get(requestKey(id));
    call?.cancellation.abort(reason);
    return call !== undefined;
  }

  cancelAll(reason: VmcpError): void {
    for (const { cancellation } of this.#calls.values()) cancellation.abort(reason);
  }

  /** Beside whatever call takes it; false when none does. */
  send(message: Buffer): boolean {
    for (const { stream } of this.#calls.values()) if (stream.send(message)) return true;
    return false;
  }
}
