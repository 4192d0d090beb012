import { FetchError } from '../../http/index.ts';
import type { Log } from '../log.ts';
import type { Meter } from '../metrics/meter.ts';
import { ExportError, type Signal } from './otlp-sender.ts';

/** `dropped`: there was no room; `failed`: the collector could not be reached, or did not take them. */
export type ExportOutcome = 'exported' | 'dropped' | 'failed' | 'rejected';

/** Counts what is exported and what is lost, and logs failures. */
export interface ExportOutcomes {
  readonly spans: (outcome: ExportOutcome, count: number) => void;
  readonly ended: (signal: Signal, error?: unknown) => void;
}

/** A collector that is down fails every export. */
const LOG_EVERY_MS = 60_000;

export const exportOutcomes = (
  meter: Meter,
  { log, now }: { readonly log: Pick<Log, 'warn' | 'info'>; readonly now: () => number },
): ExportOutcomes => {
  const spans = meter.counter({
    name: 'vmcp.telemetry.spans',
    help: 'Spans by what became of them.',
    labels: ['vmcp.telemetry.outcome'],
  });
  const exports = meter.counter({
    name: 'vmcp.telemetry.exports',
    help: 'Requests to the OTLP endpoint, by signal and whether they succeeded.',
    labels: ['vmcp.telemetry.signal', 'vmcp.telemetry.outcome'],
  });
  let failures = 0;
  let loggedAt = -Infinity;
  let isFailing = false;
  const failed = (signal: Signal, error: unknown): void => {
    failures += 1;
    if (now() - loggedAt < LOG_EVERY_MS) return;
    log.warn({ signal, failures, reason: reasonOf(error) }, 'telemetry could not be exported');
    loggedAt = now();
    failures = 0;
    isFailing = true;
  };
  return {
    spans: (outcome, count) => spans({ 'vmcp.telemetry.outcome': outcome }, count),
    ended: (signal, error) => {
      const outcome = error === undefined ? 'exported' : 'failed';
      exports({ 'vmcp.telemetry.signal': signal, 'vmcp.telemetry.outcome': outcome });
      if (error !== undefined) return failed(signal, error);
      if (isFailing) log.info({ signal }, 'telemetry is exported again');
      isFailing = false;
    },
  };
};

/** Neither kind of error names what was sent or received. */
const reasonOf = (error: unknown): string => {
  if (error instanceof FetchError)
    return error.detail === undefined ? error.message : `${error.message} (${error.detail})`;
  return error instanceof ExportError ? error.message : 'it could not be made';
};
