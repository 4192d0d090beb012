import type { Access, Admission, AdmissionSteps, Admit, CallRecord, MayHave, OnDecided, Target } from './call/index.ts';
import { asVmcpError, type VmcpError } from './errors.ts';
import type { Log } from './observe/index.ts';

/** Joins the steps of an admission in their order. */
export const admission = ({ lookUp, authorize, limit }: AdmissionSteps): Admission => {
  /** A name that policies hide is refused by look-up; the record gets what they say of it all the same. */
  const noted = async (access: Access, record: CallRecord, error: unknown): Promise<never> => {
    try {
      if (record.target) await authorize(access, record.target, record);
    } catch {
      // It is refused already.
    }
    throw error;
  };
  const found = (access: Access, record: CallRecord | undefined): Target | Promise<Target> => {
    const target = lookUp(access, record);
    return target instanceof Promise && record
      ? target.catch((error: unknown) => noted(access, record, error))
      : target;
  };
  const readmit: Admit = (access, record) =>
    after(found(access, record), (target) => {
      if (record) record.target = target;
      return after(authorize(access, target, record), () => target);
    });
  return {
    admit: (access, record) => after(readmit(access, record), (target) => after(limit(access, target), () => target)),
    readmit,
  };
};

/** Wraps `admit` so that a refusal gives undefined. An internal error is logged, since no answer reports it. */
export const unlessRefused =
  (admit: Admit, log: Pick<Log, 'error'>): MayHave =>
  async (access) =>
    (await decided(admit, access, log)).target;

export interface OnRecordDeps {
  readonly log: Pick<Log, 'error'>;
  readonly onDecided: OnDecided;
}

/** As `unlessRefused`, with every decision on record, or only those that refuse. */
export const onRecord =
  (admit: Admit, recorded: 'all' | 'refusals', { log, onDecided }: OnRecordDeps): MayHave =>
  async (access, request) => {
    const { target, refusal, record } = await decided(admit, access, log);
    const { caller, method, name, names } = access;
    if (refusal || recorded === 'all')
      await onDecided({ caller, method, watched: { name, names }, record, request, refusal });
    return target;
  };

interface Outcome {
  readonly target: Target | undefined;
  readonly refusal: VmcpError | undefined;
  readonly record: CallRecord;
}

const decided = async (admit: Admit, access: Access, log: Pick<Log, 'error'>): Promise<Outcome> => {
  const record: CallRecord = { target: undefined, decision: undefined };
  try {
    return { target: await admit(access, record), refusal: undefined, record };
  } catch (thrown) {
    const refusal = asVmcpError(thrown);
    const { code, detail, cause } = refusal;
    const { method, names } = access;
    if (code === 'internal') log.error({ code, detail, method, names, err: cause }, 'admission failed');
    return { target: undefined, refusal, record };
  }
};

/** Calls `goOn` synchronously unless the step is a promise. */
const after = <T, R>(step: T | Promise<T>, goOn: (value: T) => R | Promise<R>): R | Promise<R> =>
  step instanceof Promise ? step.then(goOn) : goOn(step);
