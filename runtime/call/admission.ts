import type { CallRecord } from './around.ts';
import type { Access } from './call.ts';
import type { Inbound } from './inbound.ts';
import type { Target } from './target.ts';

/** The steps of an admission; each refuses by throwing a VmcpError. */
export interface AdmissionSteps {
  /**
   * The target of a name; unknown and hidden names are refused alike. Notes the target that policies hide.
   */
  readonly lookUp: (access: Access, record?: CallRecord) => Target | Promise<Target>;
  /** Notes the decision in the record, of a refusal as well. */
  readonly authorize: (access: Access, target: Target, record?: CallRecord) => void | Promise<void>;
  readonly limit: (access: Access, target: Target) => void | Promise<void>;
}

/**
 * Throws VmcpError, at once or as a rejection, when the caller may not use the name. What is found out on the way is
 * noted in `record`.
 */
export type Admit = (access: Access, record?: CallRecord) => Target | Promise<Target>;

export interface Admission {
  /**
   * Look up → authorize → limit: the only way to a target, for calls, inner calls and watches. Returns a promise only
   * where a step does.
   */
  readonly admit: Admit;
  /**
   * Look up → authorize: for a watch that was admitted before, which is not counted by limits again.
   */
  readonly readmit: Admit;
}

/** As `Admit`, where a refusal gives undefined instead of an error. `request`: the one that asks, if there is one. */
export type MayHave = (access: Access, request?: Inbound) => Promise<Target | undefined>;
