import type { ClientAnswer } from '../call/index.ts';
import type { CancelSignal } from '../process/index.ts';
import { VmcpError } from '../errors.ts';

export interface ClientRequest {
  readonly method: string;
  /** JSON text. */
  readonly params: Buffer | undefined;
  /** Ends the wait; the client is sent `notifications/cancelled`. */
  readonly signal: CancelSignal;
  /** False when no stream to the client is open. */
  readonly send: (message: Buffer) => boolean;
}

interface Waiting {
  readonly resolve: (answer: ClientAnswer) => void;
  readonly reject: (error: unknown) => void;
}

/** The requests to one client that it has not answered yet. */
export class PendingClientRequests {
  readonly #limit: number;
  readonly #newId: (() => string) | undefined;
  readonly #waiting = new Map<string, Waiting>();
  #last = 0;

  /** `newId`: makes the JSON text of an id by which other replicas find this one; without it the ids count up. */
  constructor(limit: number, newId?: () => string) {
    this.#limit = limit;
    this.#newId = newId;
  }

  /**
   * Throws `busy` when the client has too many open questions, `client_cannot_answer` when no stream to the client is
   * open.
   */
  ask({ method, params, signal, send }: ClientRequest): Promise<ClientAnswer> {
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
    const { promise, resolve, reject } = Promise.withResolvers<ClientAnswer>();
    const unwanted = (): void => reject(signal.reason);
    this.#waiting.set(id, { resolve, reject });
    signal.addEventListener('abort', unwanted);
    return promise.finally(() => {
      this.#waiting.delete(id);
      signal.removeEventListener('abort', unwanted);
    });
  }

  /** `id` as a request key. False when no request with this id is pending. */
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
