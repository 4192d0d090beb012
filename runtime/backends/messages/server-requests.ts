import type { CallClient, ClientAnswer, Question } from '../../call/index.ts';
import { VmcpError } from '../../errors.ts';
import { isNumber, isObject, isString, readString, type Span, memberAt } from '../../json/index.ts';
import type { IdleTimeout } from '../../outgoing/index.ts';
import { isSameId, MAX_ID_BYTES, type ServerMessage } from './server-message.ts';

export interface ServerRequestsDeps {
  readonly backend: string;
  /** Paused while the client has to answer. */
  readonly idleTimeout: Pick<IdleTimeout, 'pause'>;
  readonly client: Pick<CallClient, 'ask'>;
  /** Sends a response to the backend. Never throws. */
  readonly reply: (response: Buffer) => Promise<void>;
}

type ServerRequest = Extract<ServerMessage, { kind: 'request' }>;

/** Unanswered requests of one stream; one more ends the call or the stream. */
const MAX_UNDER_WAY = 32;

/** `params` of `notifications/cancelled`: an id and a reason. */
const MAX_CANCEL_BYTES = 64 * 1024;

/** Requests that are relayed to clients; the gateway refuses all others itself. */
const RELAYED: ReadonlySet<string> = new Set(['elicitation/create', 'sampling/createMessage', 'roots/list']);

/** The requests a backend makes over one stream: relayed to the client, and answered under the backend's own ids. */
export class ServerRequests {
  readonly #deps: ServerRequestsDeps;
  readonly #open = new Map<Buffer, AbortController>();

  constructor(deps: ServerRequestsDeps) {
    this.#deps = deps;
  }

  /** Throws when the backend breaks the protocol or its bounds. */
  take(bytes: Buffer, { id: span, method, params }: ServerRequest): void {
    if (span.end - span.start > MAX_ID_BYTES || !(isString(bytes, span) || isNumber(bytes, span)))
      throw this.#protocolError('sent what is not JSON-RPC');
    if (this.#open.size === MAX_UNDER_WAY) throw this.#protocolError('asks without taking answers');
    const id = Buffer.from(bytes.subarray(span.start, span.end));
    const controller = new AbortController();
    this.#open.set(id, controller);
    const question = {
      method,
      params: params && bytes.subarray(params.start, params.end),
      key: isString(bytes, span) ? readString(bytes, span) : undefined,
    };
    void this.#answer(question, controller.signal)
      .then((outcome) => outcome && this.#deps.reply(responseTo(id, outcome)))
      .finally(() => this.#open.delete(id));
  }

  /** `notifications/cancelled`: the backend no longer wants an answer. */
  cancel(bytes: Buffer, params: Span | undefined): void {
    if (!params || params.end - params.start > MAX_CANCEL_BYTES || !isObject(bytes, params.start)) return;
    const span = memberAt(bytes, params.start, 'requestId');
    if (!span) return;
    for (const [id, controller] of this.#open) if (isSameId(bytes, span, id)) controller.abort(noLongerWanted());
  }

  /** Cancels the open requests of the backend: the call or the stream is over. */
  end(): void {
    for (const controller of this.#open.values()) controller.abort(noLongerWanted());
  }

  /** The answer to the backend's request; undefined when the backend has cancelled the request. */
  async #answer(question: Question, signal: AbortSignal): Promise<ClientAnswer | undefined> {
    const { method } = question;
    if (method === 'ping') return { kind: 'result', result: Buffer.from('{}') };
    if (!RELAYED.has(method)) return UNSUPPORTED;
    const goOn = this.#deps.idleTimeout.pause();
    try {
      return await this.#deps.client.ask(question, signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      return error instanceof VmcpError && error.code === 'client_cannot_answer' ? UNSUPPORTED : FAILED;
    } finally {
      goOn();
    }
  }

  #protocolError(what: string): VmcpError {
    return new VmcpError('backend_unavailable', `backend "${this.#deps.backend}" ${what}`);
  }
}

const UNSUPPORTED: ClientAnswer = { kind: 'error', error: Buffer.from('{"code":-32601,"message":"not supported"}') };
const FAILED: ClientAnswer = {
  kind: 'error',
  error: Buffer.from('{"code":-32603,"message":"the client gave no answer"}'),
};

const noLongerWanted = (): VmcpError => new VmcpError('cancelled', 'no longer wanted');

const responseTo = (id: Buffer, answer: ClientAnswer): Buffer => {
  const [name, value] = answer.kind === 'result' ? ['result', answer.result] : ['error', answer.error];
  return Buffer.concat([
    Buffer.from('{"jsonrpc":"2.0","id":'),
    id,
    Buffer.from(`,"${name}":`),
    value,
    Buffer.from('}'),
  ]);
};
