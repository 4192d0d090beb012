import { type Clock, sleep } from '../../runtime/process/index.ts';

/** A value that is polled from the API server. */
export interface Polled {
  /** Reads the value. True: it has changed. Throws while the API server does not answer; the known value stays. */
  readonly refresh: (signal: AbortSignal) => Promise<boolean>;
  readonly everyMs: number;
  readonly onChange: () => void;
  readonly onFailure: (error: unknown) => void;
}

/** Polls at the interval until the signal is aborted. */
export const poll = async (followed: Polled, clock: Clock, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    await sleep(clock, followed.everyMs, signal);
    if (!signal.aborted) await pollOnce(followed, signal);
  }
};

/** Polls once; a failure is passed to `onFailure` instead of thrown. */
export const pollOnce = async ({ refresh, onChange, onFailure }: Polled, signal: AbortSignal): Promise<void> => {
  try {
    if (await refresh(signal)) onChange();
  } catch (error) {
    if (!signal.aborted) onFailure(error);
  }
};
