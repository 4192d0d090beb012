import type { CallClient } from '../../call/index.ts';
import { VmcpError } from '../../errors.ts';
import { LIST_CHANGED } from '../../mcp/index.ts';
import type { IdleTimeout } from '../../outgoing/index.ts';
import { isSameId, readServerMessage, type ServerMessage } from './server-message.ts';
import { ServerRequests } from './server-requests.ts';
import { isWantedLog } from './small-messages.ts';

/** The part of the client that a call's stream uses. */
export type CallStreamClient = Pick<CallClient, 'era' | 'notify' | 'backlog' | 'ask' | 'logLevel'>;

export interface CallStreamDeps {
  readonly backend: string;
  /** JSON text of the call's id. */
  readonly id: Buffer;
  readonly idleTimeout: Pick<IdleTimeout, 'refresh' | 'pause'>;
  readonly client: CallStreamClient;
  /** Called when the backend notifies that one of its lists has changed. */
  readonly onListChanged?: () => void;
  /** Sends a response to the backend. Never throws. */
  readonly reply: (response: Buffer) => Promise<void>;
}

/** Messages and bytes that a backend may send before its response; a flood ends its own call and nothing else. */
const MAX_MESSAGES = 100_000;
const MAX_BYTES = 128 * 1024 * 1024;

/** Notifications about the call, which go to its client. Changed lists and resources concern other clients, too. */
export const CALL_NOTIFICATIONS: ReadonlySet<string> = new Set([
  'notifications/progress',
  'notifications/message',
  'notifications/elicitation/complete',
]);

/** Handles the messages on the event stream of one call: the response, and the requests and notifications before it. */
export class CallStream {
  readonly #deps: CallStreamDeps;
  #requests: ServerRequests | undefined;
  #messages = 0;
  #bytes = 0;

  constructor(deps: CallStreamDeps) {
    this.#deps = deps;
  }

  /**
   * Handles one message. Throws `backend_unavailable` when the backend breaks the protocol or its bounds, which ends
   * the call.
   */
  receive(bytes: Buffer): 'answer' | 'other' {
    const message = readServerMessage(bytes);
    if (!message) throw this.#protocolError('sent what is not JSON-RPC');
    if (message.kind === 'response' || message.kind === 'error') {
      if (message.id && isSameId(bytes, message.id, this.#deps.id)) return 'answer';
    }
    this.#messages += 1;
    this.#bytes += bytes.length;
    if (this.#messages > MAX_MESSAGES || this.#bytes > MAX_BYTES)
      throw this.#protocolError('said too much before its answer');
    // Responses to unknown ids do not refresh the idle timeout (docs/decisions.md "Idle timeout").
    if (message.kind === 'request' || message.kind === 'notification') this.#deps.idleTimeout.refresh();
    if (message.kind === 'request') this.#takeRequest(bytes, message);
    if (message.kind === 'notification') this.#takeNotification(bytes, message);
    return 'other';
  }

  /** Whether the client is behind (`BackendRequest.backlog`). */
  backlog(): Promise<void> | undefined {
    return this.#deps.client.backlog();
  }

  /** The call is over, and so are the requests of the backend that are still open. */
  end(): void {
    this.#requests?.end();
  }

  #takeNotification(bytes: Buffer, message: ServerNotification): void {
    if (message.method === 'notifications/cancelled') this.#requests?.cancel(bytes, message.params);
    const { client, onListChanged } = this.#deps;
    if (LIST_CHANGES.has(message.method)) onListChanged?.();
    if (isWantedBy(client, bytes, message)) client.notify(bytes);
  }

  #takeRequest(bytes: Buffer, message: Extract<ServerMessage, { kind: 'request' }>): void {
    const { backend, idleTimeout, client, reply } = this.#deps;
    this.#requests ??= new ServerRequests({ backend, idleTimeout, client, reply });
    this.#requests.take(bytes, message);
  }

  #protocolError(what: string): VmcpError {
    return new VmcpError('backend_unavailable', `backend "${this.#deps.backend}" ${what}`);
  }
}

type ServerNotification = Extract<ServerMessage, { kind: 'notification' }>;

/** Whether a backend's notification goes to the client of a call. */
export const isWantedBy = (
  { era, logLevel }: CallStreamClient,
  bytes: Buffer,
  message: ServerNotification,
): boolean => {
  if (!CALL_NOTIFICATIONS.has(message.method) || !isWantedLog(bytes, message, logLevel)) return false;
  // MCP 2026-07-28, "Logging": only a client that asks for log messages gets them.
  return message.method !== 'notifications/message' || era !== 'modern' || logLevel !== undefined;
};

/** Notifications of changed lists; never about the call on whose stream they come. */
export const LIST_CHANGES: ReadonlySet<string> = new Set(Object.values(LIST_CHANGED));

/** A client that drops notifications and answers no request. */
export const noClient: CallStreamClient = {
  era: 'legacy',
  logLevel: undefined,
  notify: () => {},
  backlog: () => undefined,
  ask: () => Promise.reject(new VmcpError('client_cannot_answer', 'nobody is asked')),
};
