import type { ClientAnswer } from '../../runtime/call/index.ts';
import { type Envelope, requestIdIn, requestKey } from '../../runtime/edge/index.ts';
import { VmcpError } from '../../runtime/errors.ts';
import { isSevereEnough } from '../../runtime/mcp/index.ts';
import type { ClientSession } from './client-session.ts';
import { errorOf, paramOf, paramsText, resultOf } from './messages.ts';

/** What the server's own messages are sorted by. */
export interface Audience {
  readonly all: () => Iterable<ClientSession>;
  /**
   * Whose calls alone are under way, of those that may make a server ask; undefined when there are none, or those of
   * several.
   */
  readonly soleAsker: () => ClientSession | undefined;
  /** The same of requests of any method. */
  readonly soleCaller: () => ClientSession | undefined;
  /** Nobody's request can be the reason of what the server says. */
  readonly isQuiet: () => boolean;
  readonly tellServer: (message: Buffer) => void;
}

type Route = (notification: Envelope, audience: Audience) => void;

const toAll: Route = ({ body }, { all }) => {
  for (const session of all()) session.tell(body);
};

const toSubscribers: Route = (notification, { all }) => {
  const uri = paramOf(notification, 'uri');
  if (typeof uri !== 'string') return;
  for (const session of all()) if (session.subscriptions.isAbout(uri)) session.tell(notification.body);
};

/**
 * What is said during the requests of several clients may be about any of them, and is told to none; so is what may be
 * about one that its client has given up.
 */
const toWhoeverItIsAbout: Route = (notification, { all, soleCaller, isQuiet }) => {
  const severity = String(paramOf(notification, 'level'));
  const tell = (session: ClientSession, send: ClientSession['tell']): void => {
    if (isSevereEnough(severity, session.logLevel)) send(notification.body);
  };
  const sole = soleCaller();
  if (sole) return tell(sole, sole.tellInCall);
  if (isQuiet()) for (const session of all()) tell(session, session.tell);
};

const ROUTES: ReadonlyMap<string, Route> = new Map([
  ['notifications/tools/list_changed', toAll],
  ['notifications/prompts/list_changed', toAll],
  ['notifications/resources/list_changed', toAll],
  ['notifications/resources/updated', toSubscribers],
  // It holds nothing but an id that only the client who was asked knows.
  ['notifications/elicitation/complete', toAll],
  ['notifications/message', toWhoeverItIsAbout],
]);

/** What the server asks and says by itself, taken to those of its clients whom it concerns. */
export class FromServer {
  readonly #audience: Audience;
  /** The server's requests that a client has been asked, by their request key. */
  readonly #asked = new Map<string, AbortController>();

  constructor(audience: Audience) {
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

  /** Nobody will hear the answers. */
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
