import type { Caller } from './caller.ts';

/** What stays open for a caller beyond a request: a stream, a connection, a session. */
export interface OpenFor {
  /** By the token presented last. */
  readonly caller: Caller;
  /** As `Decided.method`; absent: the client does not know of it. */
  readonly method?: 'subscriptions/listen' | 'GET' | 'DELETE';
  readonly sessionId?: string;
  /** Goes on for the same caller, as the authentication in force knows it. */
  readonly keep: (caller: Caller) => void;
  /**
   * Ends it in order: calls under way get their answers. `expired`: its tokens have expired here, and another replica
   * may know a newer one. False: it has got a newer token meanwhile, or has ended.
   */
  readonly end: (why: 'expired' | 'unknown') => boolean;
}
