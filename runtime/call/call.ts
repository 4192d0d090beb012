import type { IncomingHttpHeaders } from 'node:http';
import { memberAt, type Span } from '../json/index.ts';
import type { CancelSignal } from '../process/index.ts';
import type { Caller } from './caller.ts';
import type { Answered, ClientAnswer, Question } from './questions.ts';

/** Methods that are routed to the backend that owns the named entry. */
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

/** A caller's access to a name: the input of look-up, policies and limits, for calls and watches alike. */
export interface Access {
  readonly caller: Caller;
  /** `subscriptions/listen`: to get updates of a resource or a task. */
  readonly method: RoutedMethod | 'subscriptions/listen';
  /** The name as the client wrote it: a tool, a prompt, the URI (template) of a resource, or the id of a task. */
  readonly name: string;
  /** The kind of the name; a task is in no table, since its id names its backend (`runtime/call/task-id.ts`). */
  readonly names: 'tool' | 'prompt' | 'resource' | 'task';
  readonly origin: Origin;
  /** The request; absent for watches. */
  readonly request?: RelayedRequest;
}

/**
 * Where the access comes from: the client itself, a step of a workflow, or the optimizer's `call_tool`. Steps may use
 * hidden tools, too (docs/decisions.md "Hidden names").
 */
export type Origin = 'client' | 'workflow' | 'optimizer';

/** One request to a target. */
export interface Call extends Access {
  readonly method: RoutedMethod;
  /** The call that makes this one; absent for a client's own. */
  readonly parent?: Call;
  /** Number of calls around this one; 0 for a client's own. */
  readonly depth: number;
  readonly request: RelayedRequest;
  /** The backend sessions of the call's client session, or of its user. */
  readonly backendSessions: BackendSessions;
  /** Aborted when the client cancels the call or the runtime stops; the reason is a VmcpError. */
  readonly signal: CancelSignal;
  readonly client: CallClient;
  /** The client's answers and state; absent where the request carries neither. */
  readonly answered?: Answered | undefined;
  /** Where the call is in a trace, for headers of the request to a backend; absent without tracing. */
  readonly trace?: TraceContext;
  /** Headers that may repeat arguments, to be compared with them; absent in revisions before 2026-07-28. */
  readonly headers?: IncomingHttpHeaders;
}

/** A position in a trace, as it travels (W3C Trace Context, "Trace Context HTTP Headers Format"). */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string | undefined;
}

/** Warm sessions at backends. Made and understood by `runtime/backends` only. */
export interface BackendSessions {
  /** Ends them after their calls. Never throws. */
  readonly close: () => Promise<void>;
}

/** A JSON-RPC request as the client wrote it. */
export interface RelayedRequest {
  readonly bytes: Buffer;
  /** JSON text of the id. */
  readonly id: Buffer;
  /**
   * Span of the value that names the target: `params.name`, `params.uri`, `params.taskId`, or the name in `params.ref`.
   */
  readonly target: Span;
  /** Spans of `params` and `params._meta`; undefined where they are absent. */
  readonly params: Span | undefined;
  readonly meta: Span | undefined;
  /** Span of `params.arguments`; absent where it was not looked for, or there are none. */
  readonly arguments?: Span | undefined;
}

/** Span of `params.arguments`; undefined where there are none. */
export const argumentsAt = ({ bytes, params, arguments: known }: RelayedRequest): Span | undefined =>
  known ?? (params && memberAt(bytes, params.start, 'arguments'));

/** JSON text of `params.arguments`; undefined where there are none. */
export const argumentsOf = (request: RelayedRequest): Buffer | undefined => {
  const span = argumentsAt(request);
  return span && request.bytes.subarray(span.start, span.end);
};

/** The client of a call while the call is under way: its capabilities, and the messages to it before the answer. */
export interface CallClient {
  readonly era: 'legacy' | 'modern';
  /**
   * Where the client is, as far as that is known: anonymous clients have their bounds by it. Absent: nothing is kept
   * for clients of this revision after their calls.
   */
  readonly address?: string | undefined;
  /** JSON text of the capabilities that the client declared; `{}` for none. */
  readonly capabilities: Buffer;
  /** Least severe log message that the client wants; undefined: all (legacy) or none (modern). */
  readonly logLevel: string | undefined;
  /**
   * Relays a whole JSON-RPC notification on the stream of the call. Never throws; for a client that has gone, the
   * notification is dropped.
   */
  notify(notification: Buffer): void;
  /** Sends a notification once the call is answered. Absent: the revision of the client has no such notifications. */
  readonly notifyLater?: (notification: Buffer) => void;
  /** As `Inbound.backlog`: no more is read from the backend until it resolves. */
  backlog(): Promise<void> | undefined;
  /**
   * Asks the client (`elicitation/create`, `sampling/createMessage`, `roots/list`). Throws VmcpError
   * `client_cannot_answer` or `missing_client_capability` when the client has not declared the capability, `busy` when
   * too many questions are open.
   */
  ask(question: Question, signal: CancelSignal): Promise<ClientAnswer>;
  /**
   * Lets work go on once the call is answered, with the backend sessions of the call, until the returned function is
   * called; the client may go away meanwhile. Absent: the revision of the client has no such work.
   */
  readonly keep?: () => () => void;
}

/** The client of a session, for the backend sessions of that session: reachable between calls, too. */
export interface SessionClient {
  /** The caller, by the token that the client presented last. */
  readonly caller: Caller;
  readonly capabilities: Buffer;
  readonly logLevel: string | undefined;
  /** Whether the client has a stream of its own open, beside those of its calls. */
  readonly isListening: boolean;
  /** As `CallClient.notify`, on whatever stream is open. */
  readonly notify: (notification: Buffer) => void;
  /** As `CallClient.ask`, on whatever stream is open. */
  readonly ask: CallClient['ask'];
}
