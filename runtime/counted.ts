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

/** Reloads, counted by their outcome. */
export const countedReloads = (config: LiveConfig, { reloaded }: Telemetry['events']): LiveConfig => ({
  ...config,
  reload: (files) => {
    const result = config.reload(files);
    reloaded(result.ok);
    return result;
  },
});
