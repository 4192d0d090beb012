import type { CancelSignal } from '../cancellation.ts';
import type { Fetch } from '../outgoing/index.ts';
import type { SentText } from '../text-pieces.ts';
import type { HeardBy } from './call-stream.ts';
import type { SubscriptionChange } from './subscriptions.ts';

/** One request to a backend, whatever its revision. */
export interface BackendCall {
  /** A whole JSON-RPC request. */
  readonly bytes: SentText;
  /** JSON text of its id. */
  readonly id: Buffer;
  readonly silenceMs: number;
  /** `silenceMs` is all the time there is, whatever the backend says meanwhile. */
  readonly isDeadline?: true;
  readonly signal?: CancelSignal | undefined;
  /** Hears and answers what the backend says before its answer. */
  readonly client?: HeardBy;
  /** What it begins or ends for its session. */
  readonly subscription?: SubscriptionChange | undefined;
  /** Speaks for the caller, with the credential that is valid when something is sent. */
  readonly fetch: Fetch;
  /** Only where the backend keeps the session, as its id shows; else it rejects with `NoSessionError`. */
  readonly session?: 'kept' | undefined;
}
