import type { IncomingHttpHeaders } from 'node:http';
import type { SessionLinks } from './backends/index.ts';
import type { CancelSignal } from './cancellation.ts';
import type { VmcpError } from './errors.ts';
import type { Span } from './json-bytes.ts';
import type { ListedItem } from './listed.ts';
import type { Answered, ClientAnswer, Question } from './questions.ts';

/** Who asks. A value and a parameter, never context. */
export type Caller =
  | { readonly kind: 'anonymous' }
  | User
  /** The gateway itself, listing a backend's capabilities. */
  | { readonly kind: 'probe' };

/** Somebody who has proved who they are with a token. The same user with a newer token is another value. */
export interface User {
  readonly kind: 'user';
  readonly issuer: string;
  /** Unique at the issuer. */
  readonly subject: string;
  /** All that the token, or its introspection, says; verified. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** The token as it was presented. A secret: for strategies that exchange it, and for nothing that is written down. */
  readonly token: string;
  /** When the token ends, in milliseconds since the epoch; undefined where that is not known. */
  readonly expiresAt: number | undefined;
  /**
   * The user's access token at an upstream provider of the authorization server, fit for use. Undefined: the user has to sign in there
   * first, or again.
   */
  readonly upstreamToken: (provider: string) => Promise<string | undefined>;
}

/** Tells callers apart as `isSameCaller` does. */
export const callerKey = (caller: Caller): string =>
  caller.kind === 'user' ? JSON.stringify([caller.issuer, caller.subject]) : caller.kind;

/**
 * Tells callers apart by the client that they use as well: another client of the same user may have fewer rights. RFC 9068 §2.2 has
 * `client_id`, OpenID Connect Core §2 `azp`.
 */
export const clientKey = (caller: Caller): string =>
  caller.kind === 'user'
    ? JSON.stringify([caller.issuer, caller.subject, caller.claims['client_id'] ?? caller.claims['azp']])
    : caller.kind;

export const isSameCaller = (a: Caller, b: Caller): boolean =>
  a.kind === 'user' && b.kind === 'user' ? a.issuer === b.issuer && a.subject === b.subject : a.kind === b.kind;

/** What is known of a request before its body is read: enough to tell who sent it. */
export interface RequestHead {
  /** The method. */
  readonly http: string;
  readonly headers: IncomingHttpHeaders;
  /** Of the client, or of the proxy that is not trusted to name it; undefined when the connection is gone. */
  readonly clientAddress: string | undefined;
  /** Names this request in answers and logs; made when first asked for. */
  correlationId(): string;
}

/** One HTTP request that has passed the checks of HTTP itself, and the way back to its client. */
export interface Inbound extends RequestHead {
  /** GET opens a stream, DELETE ends a session; neither has a body. */
  readonly http: 'POST' | 'GET' | 'DELETE';
  /** Which of our endpoints: Streamable HTTP, or the two of HTTP+SSE (2024-11-05). */
  readonly endpoint: 'mcp' | 'sse' | 'messages';
  /** The part of the URL after `?`, empty without one. */
  readonly query: string;
  /** The session that the client names; undefined where it names none. */
  readonly sessionId: string | undefined;
  /** Empty until it was received. */
  readonly body: Buffer;
  /** Reads the body, as much as this caller may send. A promise where there is one to read. Throws VmcpError. */
  receive(caller: Caller): void | Promise<void>;
  /**
   * Sends one whole JSON-RPC message before the answer; the first one makes the answer an event stream. False when nobody takes it
   * any more: the client has gone, or takes so slowly that it was cut off.
   */
  send(message: Buffer): boolean;
  /** Undefined while the client keeps up with what it is sent; else resolves once it has taken most of it, or has gone. */
  backlog(): Promise<void> | undefined;
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
  | {
      readonly kind: 'local';
      readonly id: Buffer | undefined;
      /** As the client named it; `response` of one that answers us, `GET` and `DELETE` of the requests that are no message. */
      readonly method: string;
      readonly answer: () => Reply | Promise<Reply>;
    };

/** What a request asks for, as `Message` has it. */
export const methodOf = (message: Message): string => (message.kind === 'call' ? message.call.method : message.method);

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

/** Something behind a name that a caller wants to reach: what look-up, policy and limits judge, for calls and for watches alike. */
export interface Access {
  readonly caller: Caller;
  /** `subscriptions/listen`: to hear of a resource or a task from now on. */
  readonly method: RoutedMethod | 'subscriptions/listen';
  /** What it names, as the client wrote it: a tool, a prompt, the URI (template) of a resource, or the id of a task. */
  readonly name: string;
  /** Which names it is one of; a task is in no table, since its id says where it is (`runtime/task-id.ts`). */
  readonly names: 'tool' | 'prompt' | 'resource' | 'task';
  readonly origin: Origin;
  /** What is asked; absent for watches. */
  readonly request?: RelayedRequest;
}

/**
 * Who names it for the caller: the client itself, a step of a workflow, or the optimizer's `call_tool`. Steps may use hidden tools too
 * (decisions, "A hidden tool").
 */
export type Origin = 'client' | 'workflow' | 'optimizer';

/** One request on its way to what it names. */
export interface Call extends Access {
  readonly method: RoutedMethod;
  /** How many calls it was made within; 0 for a client's own. */
  readonly depth: number;
  readonly request: RelayedRequest;
  /** Warm backend sessions of the client session the call belongs to. */
  readonly links: SessionLinks;
  /** Aborted when the client cancels the call or the runtime stops; the reason is a VmcpError. */
  readonly signal: CancelSignal;
  readonly client: CallClient;
  /** Absent for calls that nothing was asked about. */
  readonly answered?: Answered | undefined;
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
  /** As `Inbound.backlog`: the backend is to say no more until then. */
  backlog(): Promise<void> | undefined;
  /**
   * Asks the client (`elicitation/create`, `sampling/createMessage`, `roots/list`). Throws VmcpError
   * `client_cannot_answer` or `missing_client_capability` when it has not declared that it can, `busy` when it is asked too much.
   */
  ask(question: Question, signal: CancelSignal): Promise<ClientAnswer>;
}

/** The client of a session, as the backend sessions of that session see it: between calls, too. */
export interface SessionClient {
  /** Who it is, by the token that it presented last. */
  readonly caller: Caller;
  readonly capabilities: Buffer;
  readonly logLevel: string | undefined;
  /** Whether it has a stream of its own open, beside those of its calls. */
  readonly isListening: boolean;
  /** As `CallClient.notify`, on whatever stream is open. */
  readonly notify: (notification: Buffer) => void;
  /** As `CallClient.ask`, on whatever stream is open. */
  readonly ask: CallClient['ask'];
}

/** Where a name leads. */
export type Target = BackendTarget | WorkflowTarget | BuiltinTarget;

export interface BackendTarget {
  readonly kind: 'backend';
  readonly backend: string;
  /** The backend's own name of what the call names, as JSON text. */
  readonly ownName: Buffer;
  /** The entry of the backend's list; absent for what is in no list. */
  readonly listed?: ListedItem;
  /** The template in our lists that a URI was found by. */
  readonly template?: string;
}

/** A composite tool, by its name. */
export interface WorkflowTarget {
  readonly kind: 'workflow';
  readonly workflow: string;
}

/** A tool of the runtime itself, by its name. */
export interface BuiltinTarget {
  readonly kind: 'builtin';
  readonly tool: string;
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
  /** As `Inbound.backlog`. */
  readonly backlog: () => Promise<void> | undefined;
  /** Ends the stream. */
  readonly end: () => void;
  /** Runs once the stream has ended, whoever ended it. */
  readonly onClosed: (run: () => void) => void;
}
