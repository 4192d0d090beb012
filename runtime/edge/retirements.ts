import type { Clock } from '../process/index.ts';
import type { ReplicaMessages, SessionRecord, SessionRecords, SessionRef } from '../store/index.ts';
import type { Session } from './session.ts';

/** By then, other replicas have the newer configuration as well, and have said whether they know the caller. */
const RETIRED_MS = 30_000;

export interface RetirementsDeps {
  readonly clock: Pick<Clock, 'after'>;
  readonly records: Pick<SessionRecords, 'retire' | 'takeBackRetirement'>;
  readonly messages: Pick<ReplicaMessages, 'announceChange'>;
  /** An unguessable text. */
  readonly newId: () => string;
  /** Ends the session at all replicas. */
  readonly end: (session: SessionRef) => Promise<void>;
}

/**
 * Sessions that this replica has left as it does not know their callers any more. Each ends at all replicas after a
 * while, unless another one knows its caller by then (`objectToRetirement`): its record says until then that it is
 * about to end, so that no use of a session has to be written down.
 */
export class Retirements {
  readonly #deps: RetirementsDeps;

  constructor(deps: RetirementsDeps) {
    this.#deps = deps;
  }

  begin(session: SessionRef): void {
    const { clock, records, messages, newId } = this.#deps;
    const mark = newId();
    const isMarked = records.retire(session, mark);
    // Where the store cannot be asked, the record ends when it has been idle for too long.
    void isMarked.then(() => messages.announceChange(session)).catch(() => {});
    clock.after(RETIRED_MS, () => void this.#complete(session, mark).catch(() => {}));
  }

  async #complete(session: SessionRef, mark: string): Promise<void> {
    const { records, end } = this.#deps;
    if (await records.takeBackRetirement(session, mark)) await end(session);
  }
}

/** A session in the memory of this replica. */
interface Held {
  readonly ref: SessionRef;
  readonly session: Pick<Session, 'isCallerValid'>;
}

/** Where another replica is about to end a session whose caller is known here, it goes on. */
export const objectToRetirement = (
  { ref, session }: Held,
  { retirement }: Pick<SessionRecord, 'retirement'>,
  records: Pick<SessionRecords, 'takeBackRetirement'>,
): void => {
  if (retirement !== undefined && session.isCallerValid)
    void records.takeBackRetirement(ref, retirement).catch(() => {});
};
