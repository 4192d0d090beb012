import type { CancelSignal } from '../../process/index.ts';
import type { Fetch } from '../../outgoing/index.ts';
import type { SentText } from '../../json/index.ts';
import type { CallStreamClient } from './call-stream.ts';

/** One request to a backend, whatever its revision. */
export interface BackendCall {
  /** A whole JSON-RPC request. */
  readonly bytes: SentText;
  /** JSON text of its id. */
  readonly id: Buffer;
  readonly idleTimeoutMs: number;
  /** `idleTimeoutMs` is a deadline: messages of the backend do not extend it. */
  readonly isDeadline?: true;
  readonly signal?: CancelSignal | undefined;
  /** Receives the backend's notifications and answers its requests before the response. */
  readonly client?: CallStreamClient;
  /** The subscription that the call begins or ends in its session. */
  readonly subscription?: SubscriptionChange | undefined;
  /** Sends as the caller, with the credential that is valid at the time of sending. */
  readonly fetch: Fetch;
  /** Send only in a session that the backend keeps, as its id shows; else reject with `NoSessionError`. */
  readonly session?: 'kept' | undefined;
}

/** What a call does to the subscriptions of its session. */
export interface SubscriptionChange {
  readonly kind: 'begins' | 'ends';
  /** JSON text. */
  readonly uri: string;
}

/** Sends the gateway's own requests to a backend. */
export interface ListSource {
  readonly request: (call: BackendCall & { readonly method: string }) => Promise<Buffer>;
  /**
   * What the backend declared when it was opened; a new value whenever that may have changed, undefined before the
   * first request.
   */
  readonly opened: { readonly capabilities: BackendCapabilities; readonly revision?: string } | undefined;
}

/** The capabilities of a backend that the gateway uses. */
export interface BackendCapabilities {
  readonly tools: boolean;
  readonly prompts: boolean;
  readonly resources: boolean;
  readonly logging: boolean;
  /** The backend notifies of changed lists. */
  readonly listChanged: boolean;
}
