import type { AdmissionSteps } from '../admission.ts';
import type { Caller, RequestHead } from '../call.ts';
import type { Visibility } from '../catalog/index.ts';
import { authenticateAnonymous } from './authenticate.ts';
import { permitAll } from './authorize.ts';
import { unlimited } from './limit.ts';

/** Who gets in, what they see, what they may do and how often. */
export interface Gate extends Pick<AdmissionSteps, 'authorize' | 'limit'> {
  /** By the head of a request alone. Throws VmcpError. */
  readonly authenticate: (head: RequestHead) => Caller | Promise<Caller>;
  /**
   * The policies in force: another value whenever they have changed, undefined where there are none. With policies, unknown names are refused
   * like denied ones (decisions, "A hidden tool"). Absent: there never are any.
   */
  readonly policies?: () => unknown;
  /** What of the catalog a caller may see; undefined for all of it. Absent: every caller may see all. */
  readonly visible?: (caller: Caller) => Visibility | undefined | Promise<Visibility | undefined>;
}

/** Incoming auth `anonymous`: everybody gets in, and may do everything. */
export const openGate: Gate = { authenticate: authenticateAnonymous, authorize: permitAll, limit: unlimited };
