import type { AdmissionSteps, Caller, RequestHead } from '../call/index.ts';
import type { Visibility } from '../catalog/index.ts';
import { authenticateAnonymous } from './authenticate/anonymous.ts';
import { permitAll } from './authorize.ts';
import type { Examine } from './examine.ts';
import { unlimited } from './limit.ts';

/** Authentication, visibility, authorization and rate limits. */
export interface Gate extends Pick<AdmissionSteps, 'authorize' | 'limit'>, Examine {
  /** Finds the caller by the head of a request alone. Throws VmcpError. */
  readonly authenticate: (head: RequestHead) => Caller | Promise<Caller>;
  /** The authentication in force: a new value whenever it has changed. Absent: it never does. */
  readonly authentication?: () => unknown;
  /**
   * The caller as the authentication in force knows it, by the token that was presented; undefined where it does not
   * know such a caller. Counts no failure. Throws where that cannot be found out.
   */
  readonly verifyAgain?: (caller: Caller) => Caller | undefined | Promise<Caller | undefined>;
  /** Whether it was the authentication in force that has verified this caller. */
  readonly hasVerified?: (caller: Caller) => boolean;
  /**
   * The policies in force: a new value whenever they have changed, undefined where there are none. With policies,
   * unknown names are refused like denied ones (docs/decisions.md "Hidden names"). Absent: there never are any.
   */
  readonly policies?: () => unknown;
  /** The part of the catalog that a caller may see; undefined: all of it. Absent: every caller may see all. */
  readonly visible?: (caller: Caller) => Visibility | undefined | Promise<Visibility | undefined>;
}

/** Incoming auth `anonymous`: every request is admitted and may use everything. */
export const openGate: Gate = { authenticate: authenticateAnonymous, authorize: permitAll, limit: unlimited };
