import { VmcpError } from '../errors.ts';
import type { Caller } from './caller.ts';

/** What stays open for a caller beyond a request: a stream, a connection, a session. */
export interface OpenFor {
  /** By the token presented last. */
  readonly caller: Caller;
  /** As `Decided.method`; absent: the client does not know of it. */
  readonly method?: 'subscriptions/listen' | 'GET' | 'DELETE';
  readonly sessionId?: string;
  /** What goes on in a session at this moment. */
  readonly underWay?: { readonly calls: number; readonly streams: number };
  /** Goes on for the same caller, as the authentication in force knows it. */
  readonly keep: (caller: Caller) => void;
  /**
   * Ends it in order: calls under way get their answers. `expired`: its tokens have expired here, and another replica
   * may know a newer one. `revoked`: ends it at once, calls under way as well. False: it has got a newer token
   * meanwhile, or has ended.
   */
  readonly end: (why: EndReason) => boolean;
}

export type EndReason = 'expired' | 'unknown' | 'revoked';

/** Who runs the server has ended the access of the user. */
export const accessEnded = (): VmcpError => new VmcpError('invalid_token', 'the access of this user has been ended');
