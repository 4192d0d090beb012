import type { IncomingHttpHeaders } from 'node:http';
import type { SessionLinks } from './backends/index.ts';
import type { CancelSignal } from './cancellation.ts';
import type { VmcpError } from './errors.ts';
import type { Span } from './json-bytes.ts';

/** Who asks. A value and a parameter, never context. */
export type Caller =
  | { readonly kind: 'anonymous' }
  | { readonly kind: 'user'; readonly issuer: string; readonly subject: string }
  /** The gateway itself, listing a backend's capabilities. */
  | { readonly kind: 'probe' };

/** Tells callers apart as `isSameCaller` does. */
export const callerKey = (caller: Caller): string =>
  caller.kind === 'user' ? JSON.stringify([caller.issuer, caller.subject]) : caller.kind;

export const isSameCaller = (a: Caller, b: Caller): boolean =>
  a.kind === 'user' && b.kind === 'user' ? a.issuer === b.issuer && a.subject === b.subject : a.kind === b.kind;

/** One HTTP request that has passed the checks of HTTP itself, and the way back to its client. */
export interface Inbound {
  /** GET opens a stream, DELETE ends a session; neither has a body. */
  readonly http: 'POST' | 'GET' | 'DELETE';
  /** Which of our endpoints: Streamable HTTP, or the two of HTTP+SSE (2024-11-05). */
  readonly endpoint: 'mcp' | 'sse' | 'messages';
  /** The part of the URL after `?`, empty without one. */
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Of the client, or of the proxy that is not trusted to name it; undefined when the connection is gone. */
  readonly clientAddress: string | undefined;
  /** Names this request in answers and logs; made when first asked for. */
  correlationId(): string;
  /**
   * Sends one whole JSON-RPC message before the answer; the first one makes the answer an event stream. False when nobody takes it
   * any more: the client has gone, or takes so slowly that it was cut off.
   */
  send(message: Buffer): boolean;
  /** Runs once when the client goes away before it has its answer. In 2026-07-28 that is a cancellation, before it is not. */
  onGone(run: () => void): void;
  /** From now on the stream outlives its connection. Absent where the answer is no stream of its own. */
  record?(stream: StreamRecord): void;
}

/** A stream that its client may go on with on another connection. */
export interface StreamRecord {
  /** Whether anything was sent on it. */
  readonly isBegun: boolean;
  /** The first connection. */
  readonly begin: (sink: EventSink) => void;
  /** The connection is lost, unless another one has taken its place. */
  readonly lose: (sink: EventSink) => void;
  readonly send: (data: Buffer) => boolean;
  readonly finish: (last: Buffer | undefined) => void;
}

/** Where the events of a stream go as they come. */
export interface EventSink {
  /** False when nobody takes them any more. */
  readonly send: (data: Buffer, id: string) => boolean;
  readonly end: () => void;
}

/** What a request turns out to be once its envelope is read. */
export type Message =
  /** Goes to a backend; `end` is called when it is over, however it went. */
  | {
      readonly kind: 'call';
      readonly id: Buffer;
      readonly call: Call;
      readonly end: () => void;
      /** What the backend's answer becomes for this client; absent: it is relayed as it is. */
      readonly finish?: (reply: Reply) => Reply;
    }
  /** Answered here: the handshake, lists, notifications, streams. */
  | { readonly kind: 'local'; readonly id: Buffer | undefined; readonly answer: () => Reply | Promise<Reply> };

/** Methods that go to the backend that owns what they name. */
export type RoutedMethod =
  | 'tools/call'
  | 'prompts/get'
  | 'resources/read'
  | 'resources/subscribe'
  | 'resources/unsubscribe'
  | 'completion/complete'
  | 'tasks/get'
  | 'tasks/update'
  | 'tasks/cancel';

/** One request on its way to the backend that owns what it names. */
export interface Call {
  readonly caller: Caller;
  readonly method: RoutedMethod;
  /** What it names, as the client wrote it: a tool, a prompt, the URI (template) of a resource, or the id of a task. */
  readonly name: string;
  /** Which table the name is looked up in; a task is in none, since its id says where it is (`runtime/task-id.ts`). */
  readonly names: 'tool' | 'prompt' | 'resource' | 'task';
  readonly request: RelayedRequest;
  /** Warm backend sessions of the client session the call belongs to. */
  readonly links: SessionLinks;
  /** Aborted when the client cancels the call or the runtime stops; the reason is a VmcpError. */
  readonly signal: CancelSignal;
  readonly client: CallClient;
  /** Headers that may repeat arguments, to be compared with them; absent in revisions before 2026-07-28. */
  readonly headers?: IncomingHttpHeaders;
}

/** A JSON-RPC request as the client wrote it. */
export interface RelayedRequest {
  readonly bytes: Buffer;
  /** JSON text of the id. */
  readonly id: Buffer;
  /** Where the value lies that names the target: `params.name`, `params.uri`, `params.taskId`, or that of `params.ref`. */
  readonly target: Span;
  /** Where `params` and `params._meta` lie, when they are there. */
  readonly params: Span | undefined;
  readonly meta: Span | undefined;
}

/** The client of a call while the call is under way: what it can do, and the way to it before its answer. */
export interface CallClient {
  readonly era: 'legacy' | 'modern';
  /** JSON text of the capabilities it declared; `{}` when it declared none. */
  readonly capabilities: Buffer;
  /** Least severe log message it wants; absent: all (legacy) or none (modern). */
  readonly logLevel: string | undefined;
  /** Relays a whole JSON-RPC notification on the stream of the call. Never throws; a client that has gone hears nothing. */
  notify(notification: Buffer): void;
  /**
   * Asks the client (`elicitation/create`, `sampling/createMessage`, `roots/list`); `params` is JSON text. Throws VmcpError
   * `client_cannot_answer` when it has not declared that it can, or is of an era that takes no requests.
   */
  ask(method: string, params: Buffer | undefined, signal: CancelSignal): Promise<ClientAnswer>;
}

/** The client of a session, as the backend sessions of that session see it: between calls, too. */
export interface SessionClient {
  readonly capabilities: Buffer;
  readonly logLevel: string | undefined;
  /** Whether it has a stream of its own open, beside those of its calls. */
  readonly isListening: boolean;
  /** As `CallClient.notify`, on whatever stream is open. */
  readonly notify: (notification: Buffer) => void;
  /** As `CallClient.ask`, on whatever stream is open. */
  readonly ask: CallClient['ask'];
}

/** What the client answered, as JSON text. */
export type ClientAnswer =
  | { readonly kind: 'result'; readonly result: Buffer }
  | { readonly kind: 'error'; readonly error: Buffer };

/** Where a name leads. */
export interface Target {
  readonly backend: string;
  /** The backend's own name of what the call names, as JSON text. */
  readonly ownName: Buffer;
}

/** The answer to one HTTP request, tagged by how it is sent. */
export type Reply = WholeReply | StreamReply;

/** In one piece; after messages that came before it, as the last event of their stream. */
export interface WholeReply {
  readonly kind: 'whole';
  readonly status: number;
  /** A complete JSON-RPC message; absent for 202 and for a cancelled request. */
  readonly body?: Buffer;
  /** Names and values in turn. */
  readonly headers?: readonly string[];
  /** Why the request was refused or failed, for logs and audit. */
  readonly refusal?: VmcpError;
}

/** An event stream that stays open until either side ends it. */
export interface StreamReply {
  readonly kind: 'stream';
  readonly headers?: readonly string[];
  /** The last message, when it is we who end the stream. */
  readonly farewell?: Buffer;
  readonly open: (stream: OpenStream) => void;
  /** Runs instead of `open` when the client has gone meanwhile. */
  readonly abandon?: () => void;
}

export interface OpenStream {
  /** One event of type `message`, or of another. False when nobody takes it any more. */
  readonly send: (data: Buffer, event?: string, id?: string) => boolean;
  /** Ends the stream. */
  readonly end: () => void;
  /** Runs once the stream has ended, whoever ended it. */
  readonly onClosed: (run: () => void) => void;
}
