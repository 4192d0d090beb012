import type { ClientAnswer } from '../questions.ts';
import type { CancelSignal } from '../cancellation.ts';
import { VmcpError } from '../errors.ts';

export interface Ask {
  readonly method: string;
  /** JSON text. */
  readonly params: Buffer | undefined;
  /** Ends the wait; the client is told that nobody waits any more. */
  readonly signal: CancelSignal;
  /** False when no stream to the client is open. */
  readonly send: (message: Buffer) => boolean;
}

interface Waiting {
  readonly resolve: (answer: ClientAnswer) => void;
  readonly reject: (error: unknown) => void;
}

/** What a client has been asked and has not answered yet. */
export class Asks {
  readonly #limit: number;
  readonly #newId: (() => string) | undefined;
  readonly #waiting = new Map<string, Waiting>();
  #last = 0;

  /** `newId`: JSON text of an id that other replicas know whose it is; without it the ids count up. */
  constructor(limit: number, newId?: () => string) {
    this.#limit = limit;
    this.#newId = newId;
  }

  /** Throws `busy` when the client has too many open questions, `client_cannot_answer` when nothing reaches it. */
  ask({ method, params, signal, send }: Ask): Promise<ClientAnswer> {
    if (this.#waiting.size >= this.#limit) throw new VmcpError('busy', 'the client has too many open questions');
    if (signal.aborted) throw signal.reason;
    this.#last += 1;
    const id = this.#newId?.() ?? `"vmcp-${this.#last}"`;
    if (!send(requestOf(id, method, params)))
      throw new VmcpError('client_cannot_answer', 'the client has no stream open to be asked on');
    return this.#answer(id, signal).catch((error: unknown) => {
      if (signal.aborted) send(cancelled(id));
      throw error;
    });
  }

  #answer(id: string, signal: CancelSignal): Promise<ClientAnswer> {
    return new Promise<ClientAnswer>((resolve, reject) => {
      const unwanted = (): void => reject(signal.reason);
      this.#waiting.set(id, { resolve, reject });
      signal.addEventListener('abort', unwanted);
    }).finally(() => this.#waiting.delete(id));
  }

  /** `id` as a request key. False when nobody waits for it. */
  settle(id: string, answer: ClientAnswer): boolean {
    const waiting = this.#waiting.get(id);
    waiting?.resolve(answer);
    return waiting !== undefined;
  }

  refuseAll(reason: VmcpError): void {
    for (const { reject } of this.#waiting.values()) reject(reason);
  }
}

const requestOf = (id: string, method: string, params: Buffer | undefined): Buffer => {
  const head = Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}`);
  return Buffer.concat(params ? [head, Buffer.from(',"params":'), params, closing] : [head, closing]);
};

const closing = Buffer.from('}');

const cancelled = (id: string): Buffer =>
  Buffer.from(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id}}}`);
