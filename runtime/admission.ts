import type { Access, Target } from './call.ts';

export interface AdmissionSteps {
  /** Where a name leads; unknown and hidden names are refused alike. */
  readonly lookUp: (access: Access) => Target | Promise<Target>;
  readonly authorize: (access: Access, target: Target) => void | Promise<void>;
  readonly limit: (access: Access, target: Target) => void | Promise<void>;
}

/** Throws VmcpError, at once or as a rejection, when the caller may not have what it names. */
export type Admit = (access: Access) => Target | Promise<Target>;

export interface Admission {
  /** Look up → authorize → limit: the only way to what a name leads to, for calls, inner calls and watches. Waits only where a step does. */
  readonly admit: Admit;
  /** Look up → authorize: for what was admitted before and goes on elsewhere, which uses up no limit again. */
  readonly readmit: Admit;
}

export const admission = ({ lookUp, authorize, limit }: AdmissionSteps): Admission => {
  const readmit: Admit = (access) => after(lookUp(access), (target) => after(authorize(access, target), () => target));
  return {
    admit: (access) => after(readmit(access), (target) => after(limit(access, target), () => target)),
    readmit,
  };
};

/** Goes on at once where nothing has to be waited for. */
const after = <T, R>(step: T | Promise<T>, goOn: (value: T) => R | Promise<R>): R | Promise<R> =>
  step instanceof Promise ? step.then(goOn) : goOn(step);
