import type { ClientAnswer } from '../../runtime/call/index.ts';
import { type Envelope, requestIdIn, requestKey } from '../../runtime/edge/index.ts';
import { VmcpError } from '../../runtime/errors.ts';
import { isSevereEnough } from '../../runtime/mcp/index.ts';
import type { ClientSession } from './client-session.ts';
import { errorOf, paramOf, paramsText, resultOf } from './messages.ts';

/** Which clients a message of the server is for. */
export interface Recipients {
  readonly all: () => Iterable<ClientSession>;
  /**
   * The only client with calls under way that may cause a request of the server; undefined when there is none, or
   * several.
   */
  readonly soleAsker: () => ClientSession | undefined;
  /** The only client with requests of any method under way. */
  readonly soleCaller: () => ClientSession | undefined;
  /** No request can be the cause of what the server sends. */
  readonly isIdle: () => boolean;
  readonly tellServer: (message: Buffer) => void;
}

type Route = (notification: Envelope, audience: Recipients) => void;

const toAll: Route = ({ body }, { all }) => {
  for (const session of all()) session.notify(body);
};

const toSubscribers: Route = (notification, { all }) => {
  const uri = paramOf(notification, 'uri');
  if (typeof uri !== 'string') return;
  for (const session of all()) if (session.subscriptions.isAbout(uri)) session.notify(notification.body);
};

/**
 * A log message during requests of several clients, or shortly after an abandoned one, may belong to any of them and is
 * sent to none.
 */
const toConcernedClients: Route = (notification, { all, soleCaller, isIdle }) => {
  const severity = String(paramOf(notification, 'level'));
  const tell = (session: ClientSession, send: ClientSession['notify']): void => {
    if (isSevereEnough(severity, session.logLevel)) send(notification.body);
  };
  const sole = soleCaller();
  if (sole) return tell(sole, sole.notifyInCall);
  if (isIdle()) for (const session of all()) tell(session, session.notify);
};

const ROUTES: ReadonlyMap<string, Route> = new Map([
  ['notifications/tools/list_changed', toAll],
  ['notifications/prompts/list_changed', toAll],
  ['notifications/resources/list_changed', toAll],
  ['notifications/resources/updated', toSubscribers],
  // Only the client that was asked knows the id in it.
  ['notifications/elicitation/complete', toAll],
  ['notifications/message', toConcernedClients],
]);

/** Routes requests and notifications of the server to the clients that they concern. */
export class FromServer {
  readonly #audience: Recipients;
  /** The server's requests that a client has been asked, by their request key. */
  readonly #asked = new Map<string, AbortController>();

  constructor(audience: Recipients) {
    this.#audience = audience;
  }

  readonly onNotification = (notification: Envelope): void => {
    if (notification.method === 'notifications/cancelled') return this.#cancel(notification);
    ROUTES.get(notification.method)?.(notification, this.#audience);
  };

  readonly onRequest = (request: Envelope): void => {
    const { id = NULL, method } = request;
    if (method === 'ping') return this.#audience.tellServer(resultOf(id, EMPTY));
    void this.#relay(request).then(
      (answer) => this.#audience.tellServer(answerOf(id, answer)),
      (error: unknown) => this.#audience.tellServer(errorOf(id, refusal(error))),
    );
  };

  /** Aborts pending requests: the server is gone. */
  forget(): void {
    for (const controller of this.#asked.values()) controller.abort(new VmcpError('cancelled', 'the server has gone'));
  }

  async #relay(request: Envelope): Promise<ClientAnswer> {
    const { id = NULL, method } = request;
    if (method !== 'sampling/createMessage' && method !== 'elicitation/create')
      throw new VmcpError('method_not_found', 'method not found');
    const session = this.#audience.soleAsker();
    if (!session)
      throw new VmcpError('client_cannot_answer', 'it cannot be told which of several clients is to be asked');
    const key = requestKey(id);
    if (this.#asked.has(key)) throw new VmcpError('not_json_rpc', '"id" is that of a request still under way');
    const controller = new AbortController();
    this.#asked.set(key, controller);
    try {
      return await session.ask({ method, params: paramsText(request), signal: controller.signal });
    } finally {
      this.#asked.delete(key);
    }
  }

  #cancel(notification: Envelope): void {
    const id = requestIdIn(notification);
    if (id) this.#asked.get(requestKey(id))?.abort(new VmcpError('cancelled', 'cancelled by the server'));
  }
}

const NULL = Buffer.from('null');
const EMPTY = Buffer.from('{}');

const answerOf = (id: Buffer, answer: ClientAnswer): Buffer =>
  answer.kind === 'result' ? resultOf(id, answer.result) : errorOf(id, answer.error);

const METHOD_NOT_FOUND = -32_601;
const INTERNAL_ERROR = -32_603;

/** JSON text of an error. */
const refusal = (error: unknown): Buffer => {
  const { code, message } = error instanceof VmcpError ? error : { code: 'internal', message: 'internal error' };
  return Buffer.from(
    JSON.stringify({ code: code === 'method_not_found' ? METHOD_NOT_FOUND : INTERNAL_ERROR, message }),
  );
};
