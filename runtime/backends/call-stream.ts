import type { CallClient } from '../call.ts';
import { VmcpError } from '../errors.ts';
import { LIST_CHANGED } from '../listed.ts';
import type { Attention } from '../outgoing/index.ts';
import { isSameId, readServerMessage, type ServerMessage } from './server-message.ts';
import { ServerRequests } from './server-requests.ts';
import { isWantedLog } from './small-messages.ts';

/** The client, as far as a call's stream has to do with it. */
export type HeardBy = Pick<CallClient, 'era' | 'notify' | 'backlog' | 'ask' | 'logLevel'>;

export interface CallStreamDeps {
  readonly backend: string;
  /** JSON text of the call's id. */
  readonly id: Buffer;
  readonly attention: Pick<Attention, 'heard' | 'pause'>;
  readonly client: HeardBy;
  /** The backend says that one of its lists has changed. */
  readonly onListChanged?: () => void;
  /** Sends a response to the backend. Never throws. */
  readonly reply: (response: Buffer) => Promise<void>;
}

/** What a backend may say besides its answer, so that a flood ends its own call and nothing else. */
const MAX_MESSAGES = 100_000;
const MAX_BYTES = 128 * 1024 * 1024;

/** What is about the call, and so for its client. Changed lists and resources concern more than one. */
export const ABOUT_CALLS: ReadonlySet<string> = new Set([
  'notifications/progress',
  'notifications/message',
  'notifications/elicitation/complete',
]);

/** The messages on the event stream of one call: its answer, and whatever the backend says meanwhile. */
export class CallStream {
  readonly #deps: CallStreamDeps;
  #requests: ServerRequests | undefined;
  #messages = 0;
  #bytes = 0;

  constructor(deps: CallStreamDeps) {
    this.#deps = deps;
  }

  /** Throws when the backend breaks the protocol or its bounds, which ends the call. */
  hear(bytes: Buffer): 'answer' | 'other' {
    const message = readServerMessage(bytes);
    if (!message) throw this.#bad('sent what is not JSON-RPC');
    if (message.kind === 'response' || message.kind === 'error') {
      if (message.id && isSameId(bytes, message.id, this.#deps.id)) return 'answer';
    }
    this.#messages += 1;
    this.#bytes += bytes.length;
    if (this.#messages > MAX_MESSAGES || this.#bytes > MAX_BYTES) throw this.#bad('said too much before its answer');
    // Answers to nothing we asked are no sign of work (decisions: Timeouts).
    if (message.kind === 'request' || message.kind === 'notification') this.#deps.attention.heard();
    if (message.kind === 'request') this.#asked(bytes, message);
    if (message.kind === 'notification') this.#told(bytes, message);
    return 'other';
  }

  /** Whether the client is behind (`BackendRequest.backlog`). */
  backlog(): Promise<void> | undefined {
    return this.#deps.client.backlog();
  }

  /** Nobody waits for the call any more, nor for what the backend has asked meanwhile. */
  end(): void {
    this.#requests?.end();
  }

  #told(bytes: Buffer, message: ServerNotification): void {
    if (message.method === 'notifications/cancelled') this.#requests?.cancel(bytes, message.params);
    const { client, onListChanged } = this.#deps;
    if (LIST_CHANGES.has(message.method)) onListChanged?.();
    if (isWantedBy(client, bytes, message)) client.notify(bytes);
  }

  #asked(bytes: Buffer, message: Extract<ServerMessage, { kind: 'request' }>): void {
    const { backend, attention, client, reply } = this.#deps;
    this.#requests ??= new ServerRequests({ backend, attention, client, reply });
    this.#requests.take(bytes, message);
  }

  #bad(what: string): VmcpError {
    return new VmcpError('backend_unavailable', `backend "${this.#deps.backend}" ${what}`);
  }
}

type ServerNotification = Extract<ServerMessage, { kind: 'notification' }>;

/** Whether what a backend tells is for the client of a call. */
export const isWantedBy = ({ era, logLevel }: HeardBy, bytes: Buffer, message: ServerNotification): boolean => {
  if (!ABOUT_CALLS.has(message.method) || !isWantedLog(bytes, message, logLevel)) return false;
  // MCP 2026-07-28, "Logging": only who asks for it hears it.
  return message.method !== 'notifications/message' || era !== 'modern' || logLevel !== undefined;
};

/** Not about the call, whatever stream it comes on. */
export const LIST_CHANGES: ReadonlySet<string> = new Set(Object.values(LIST_CHANGED));

/** Hears nothing and answers nothing. */
export const nobody: HeardBy = {
  era: 'legacy',
  logLevel: undefined,
  notify: () => {},
  backlog: () => undefined,
  ask: () => Promise.reject(new VmcpError('client_cannot_answer', 'nobody is asked')),
};
