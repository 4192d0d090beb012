import { abortAfter, backoffMs, type Clock, sleep } from '../../runtime/process/index.ts';
import { errorText } from '../observe/log.ts';
import type { Attachment } from './attach.ts';
import type { Multiplexer } from './multiplexer.ts';
import type { BridgeLog } from './run.ts';

export interface KeepAttachedDeps {
  readonly multiplexer: Pick<Multiplexer, 'began' | 'resumed' | 'lost' | 'ended'>;
  /** Names the run of the container that there is now; undefined while none runs. */
  readonly running: (signal: AbortSignal) => Promise<string | undefined>;
  readonly attach: (signal: AbortSignal) => Promise<Attachment>;
  readonly clock: Clock;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  readonly log: BridgeLog;
}

const RETRY = { baseMs: 250, maxMs: 2_000 };
/** The status of a pod lags behind its containers by about so much. */
const SETTLED_MS = 5_000;
/** Of an exit that the status of the pod does not show by then there was none. */
const EXIT_SHOWS_MS = 15_000;

/** How the last attachment ended. */
interface LastAttachment {
  readonly run: string;
  readonly hasExited: boolean;
  readonly at: number;
}

/** Attaches to the server's container whenever it runs, until `signal` aborts. */
export const keepAttached = async (deps: KeepAttachedDeps, signal: AbortSignal): Promise<void> => {
  const { clock, random, log } = deps;
  let before: LastAttachment | undefined;
  let failed = 0;
  let told: string | undefined;
  while (!signal.aborted) {
    try {
      const run = await deps.running(signal);
      if (run === undefined) before = endedBefore(before, deps);
      if (run !== undefined && !isStale(run, before, clock)) {
        before = await attachedTo(run, before, deps, signal);
        failed = 0;
        told = undefined;
        continue;
      }
    } catch (error) {
      const reason = errorText(error);
      // Each reason once; that the container does not run is the kubelet's to tell.
      if (reason !== told && !signal.aborted) log.warn({ reason }, 'not attached to the server’s container');
      told = reason;
    }
    failed += 1;
    await sleep(clock, backoffMs(failed, RETRY, random), signal);
  }
};

/** It ended while we were not attached. */
const endedBefore = (
  before: LastAttachment | undefined,
  { multiplexer, clock }: KeepAttachedDeps,
): LastAttachment | undefined => {
  if (before === undefined || before.hasExited) return before;
  multiplexer.ended();
  return { ...before, hasExited: true, at: clock.now() };
};

/** The pod's status still shows the run that has ended. */
const isStale = (run: string, before: LastAttachment | undefined, clock: Clock): boolean =>
  before?.hasExited === true && before.run === run && clock.now() - before.at < EXIT_SHOWS_MS;

const attachedTo = async (
  run: string,
  before: LastAttachment | undefined,
  deps: KeepAttachedDeps,
  signal: AbortSignal,
): Promise<LastAttachment> => {
  const { multiplexer, clock, log } = deps;
  const attachment = await deps.attach(signal);
  const isSameRun = before?.run === run && !before.hasExited;
  log.info({ container: run, isSameRun }, 'attached to the server’s container');
  if (isSameRun) multiplexer.resumed(attachment.link);
  else multiplexer.began(attachment.link);
  const over = new AbortController();
  const watched = AbortSignal.any([signal, over.signal]);
  signal.addEventListener('abort', attachment.close, { signal: over.signal });
  const [ended, isOther] = await Promise.all([
    attachment.ended.finally(() => over.abort()),
    isOtherRun(run, deps, watched).then((other) => {
      if (other) attachment.close();
      return other;
    }),
  ]);
  log.info({ container: run, ...ended }, 'no more attached to the server’s container');
  if (ended.hasExited || isOther) multiplexer.ended();
  else multiplexer.lost();
  return { run, hasExited: ended.hasExited || isOther, at: clock.now() };
};

/**
 * The name was read before we attached, and may have been out of date: what we took for the same run is then another
 * one.
 */
const isOtherRun = async (run: string, deps: KeepAttachedDeps, signal: AbortSignal): Promise<boolean> => {
  await sleep(deps.clock, SETTLED_MS, signal);
  if (signal.aborted) return false;
  const limited = AbortSignal.any([signal, abortAfter(deps.clock, SETTLED_MS)]);
  const now = await deps.running(limited).catch(() => run);
  return now !== undefined && now !== run;
};
