import { type Clock, sleep } from '../../runtime/process/index.ts';

/** Something that is kept equal to what the API server says. */
export interface Followed {
  /** Asks now. True: it is not what it was. Throws while nobody answers; what is known stays. */
  readonly refresh: (signal: AbortSignal) => Promise<boolean>;
  readonly everyMs: number;
  readonly onChange: () => void;
  readonly onFailure: (error: unknown) => void;
}

/** Asks again and again until the signal is aborted. */
export const follow = async (followed: Followed, clock: Clock, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    await sleep(clock, followed.everyMs, signal);
    if (!signal.aborted) await ask(followed, signal);
  }
};

/** Asks once; a failure is told, not thrown. */
export const ask = async ({ refresh, onChange, onFailure }: Followed, signal: AbortSignal): Promise<void> => {
  try {
    if (await refresh(signal)) onChange();
  } catch (error) {
    if (!signal.aborted) onFailure(error);
  }
};
