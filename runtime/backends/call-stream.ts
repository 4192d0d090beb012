import { VmcpError } from '../errors.ts';
import { isNumber, isString, type Span } from '../json-bytes.ts';
import { isSameId, MAX_ID_BYTES, readServerMessage } from './server-message.ts';

export interface CallStreamDeps {
  readonly backend: string;
  /** JSON text of the call's id. */
  readonly id: Buffer;
  /** The backend is at work on the call. */
  readonly heard: () => void;
  /** Takes whole notifications. Never throws. */
  readonly notify: (notification: Buffer) => void;
  /** Sends a response to the backend. Never throws. */
  readonly reply: (response: Buffer) => Promise<void>;
}

/** What a backend may say besides its answer, so that a flood ends its own call and nothing else. */
const MAX_REPLIES_UNDER_WAY = 4;
const MAX_MESSAGES = 100_000;
const MAX_BYTES = 128 * 1024 * 1024;

/** What is about the call, and so for its client. Changed lists and resources concern more than one. */
const RELAYED: ReadonlySet<string> = new Set(['notifications/progress', 'notifications/message']);

/** The messages on the event stream of one call: its answer, and whatever the backend says meanwhile. */
export class CallStream {
  readonly #deps: CallStreamDeps;
  #replies = 0;
  #messages = 0;
  #bytes = 0;

  constructor(deps: CallStreamDeps) {
    this.#deps = deps;
  }

  /** Throws when the backend breaks the protocol or its bounds, which ends the call. */
  readonly hear = (bytes: Buffer): 'answer' | 'other' => {
    const message = readServerMessage(bytes);
    if (!message) throw this.#bad('sent what is not JSON-RPC');
    if (message.kind === 'response' || message.kind === 'error') {
      if (message.id && isSameId(bytes, message.id, this.#deps.id)) return 'answer';
    }
    this.#messages += 1;
    this.#bytes += bytes.length;
    if (this.#messages > MAX_MESSAGES || this.#bytes > MAX_BYTES) throw this.#bad('said too much before its answer');
    // Answers to nothing we asked are no sign of work (decisions: Timeouts).
    if (message.kind === 'request' || message.kind === 'notification') this.#deps.heard();
    if (message.kind === 'notification' && RELAYED.has(message.method)) this.#deps.notify(bytes);
    if (message.kind === 'request') this.#answer(bytes, message.id, message.method);
    return 'other';
  };

  /** We advertise no client capabilities, so a backend may ask for nothing but a ping. */
  #answer(bytes: Buffer, span: Span, method: string): void {
    if (span.end - span.start > MAX_ID_BYTES || !(isString(bytes, span) || isNumber(bytes, span)))
      throw this.#bad('sent what is not JSON-RPC');
    if (this.#replies === MAX_REPLIES_UNDER_WAY) throw this.#bad('asks without taking answers');
    const outcome = method === 'ping' ? '"result":{}' : '"error":{"code":-32601,"message":"not supported"}';
    const id = bytes.subarray(span.start, span.end);
    this.#replies += 1;
    void this.#deps
      .reply(Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":'), id, Buffer.from(`,${outcome}}`)]))
      .finally(() => {
        this.#replies -= 1;
      });
  }

  #bad(what: string): VmcpError {
    return new VmcpError('backend_unavailable', `backend "${this.#deps.backend}" ${what}`);
  }
}
