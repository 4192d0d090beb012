import type { Access, Target } from './call.ts';
import { asVmcpError } from './errors.ts';
import type { Log } from './observe/index.ts';

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

/** As `Admit`, for what is left out instead of being refused; undefined: not for this caller, or not now. */
export type MayHave = (access: Access) => Promise<Target | undefined>;

/** A fault of ours is logged, since no answer tells of it. */
export const unlessRefused =
  (admit: Admit, log: Pick<Log, 'error'>): MayHave =>
  async (access) => {
    try {
      return await admit(access);
    } catch (thrown) {
      const { code, detail, cause } = asVmcpError(thrown);
      const { method, names } = access;
      if (code === 'internal') log.error({ code, detail, method, names, err: cause }, 'admission failed');
      return undefined;
    }
  };

/** Goes on at once where nothing has to be waited for. */
const after = <T, R>(step: T | Promise<T>, goOn: (value: T) => R | Promise<R>): R | Promise<R> =>
  step instanceof Promise ? step.then(goOn) : goOn(step);
