import type { BackendEvents } from './backends/index.ts';
import type { LiveConfig } from './config/index.ts';
import { cutLog, failureLog, type Log, type Telemetry } from './observe/index.ts';
import type { Clock } from './process/index.ts';

/** Failures and slow clients, logged and counted. */
export const failuresSeen = (log: Log, { now }: Clock, { refused, cut }: Telemetry['events']) => {
  const [logFailure, logCut] = [failureLog(log, now), cutLog(log, now)];
  return {
    onFailure: (...failure: Parameters<typeof logFailure>): void => {
      refused(failure[0]);
      logFailure(...failure);
    },
    onCut: (...cutOff: Parameters<typeof logCut>): void => {
      cut();
      logCut(...cutOff);
    },
  };
};

/** Circuits that open and close, logged and counted, and calls that are refused, counted. */
export const circuitsSeen = (log: Log, { circuitChanged, callRefused }: Telemetry['events']): BackendEvents => {
  const open = new Set<string>();
  return {
    callRefused,
    circuitChanged: (backend, state) => {
      circuitChanged(backend, state);
      if (state === 'closed' && open.delete(backend)) log.info({ backend }, 'circuit closed');
      // A trial that fails is no news.
      if (state !== 'open' || open.has(backend)) return log.debug({ backend, state }, 'circuit changed');
      open.add(backend);
      log.warn({ backend }, 'circuit open, the backend keeps failing');
    },
  };
};

/** Reloads, counted by their outcome. */
export const countedReloads = (config: LiveConfig, { reloaded }: Telemetry['events']): LiveConfig => ({
  ...config,
  reload: (files) => {
    const result = config.reload(files);
    reloaded(result.ok);
    return result;
  },
});
