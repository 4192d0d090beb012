import type { IncomingHttpHeaders } from 'node:http';
import type { SessionLinks } from './backends/index.ts';
import type { VmcpError } from './errors.ts';
import type { Span } from './json-bytes.ts';

/** Who asks. A value and a parameter, never context. */
export type Caller =
  | { readonly kind: 'anonymous' }
  | { readonly kind: 'user'; readonly issuer: string; readonly subject: string }
  /** The gateway itself, listing a backend's capabilities. */
  | { readonly kind: 'probe' };

export const isSameCaller = (a: Caller, b: Caller): boolean =>
  a.kind === 'user' && b.kind === 'user' ? a.issuer === b.issuer && a.subject === b.subject : a.kind === b.kind;

/** One HTTP request that has passed the checks of HTTP itself. */
export interface Inbound {
  /** DELETE ends a session and has no body. */
  readonly http: 'POST' | 'DELETE';
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Names this request in answers and logs; made when first asked for. */
  readonly correlationId: () => string;
}

/** What a request turns out to be once its envelope is read. */
export type Message =
  /** Goes to a backend; `end` is called when it is over, however it went. */
  | { readonly kind: 'call'; readonly id: Buffer; readonly call: Call; readonly end: () => void }
  /** Answered here: the handshake, lists, notifications. */
  | { readonly kind: 'local'; readonly id: Buffer | undefined; readonly answer: () => Reply | Promise<Reply> };

/** Methods that go to the backend that owns what they name. */
export type RoutedMethod = 'tools/call';

/** One request on its way to the backend that owns what it names. */
export interface Call {
  readonly caller: Caller;
  readonly method: RoutedMethod;
  /** The name the caller used. */
  readonly name: string;
  readonly request: RelayedRequest;
  /** Warm backend sessions of the client session the call belongs to. */
  readonly links: SessionLinks;
  /** Aborted when the client cancels the call or the runtime stops; the reason is a VmcpError. */
  readonly signal: AbortSignal;
}

/** A JSON-RPC request as the client wrote it; only the name is ever replaced. */
export interface RelayedRequest {
  readonly bytes: Buffer;
  /** JSON text of the id. */
  readonly id: Buffer;
  /** Where the value lies that names the target: `params.name` of `tools/call`. */
  readonly target: Span;
}

/** Where a name leads. */
export interface Target {
  readonly backend: string;
  /** The backend's own name, as JSON text. */
  readonly ownName: Buffer;
}

/** The answer to one HTTP request, tagged by how it is sent: `whole` in one piece. */
export interface Reply {
  readonly kind: 'whole';
  readonly status: number;
  /** A complete JSON-RPC message; absent for 202 and for a cancelled request. */
  readonly body?: Buffer;
  /** Names and values in turn. */
  readonly headers?: readonly string[];
  /** Why the request was refused or failed, for logs and audit. */
  readonly refusal?: VmcpError;
}
