import type { Config } from './load.ts';

/** What is served as it is written, and hardly meant so: one line each, to be read by whoever wrote it. */
export const warningsOf = ({ operational: { failureHandling } }: Config): readonly string[] => {
  const { healthCheckInterval, healthCheckTimeout } = failureHandling;
  if (healthCheckTimeout < healthCheckInterval) return [];
  return [
    'operational.failureHandling.healthCheckTimeout: not below healthCheckInterval, so that a check may take longer than the time between two; lower it, or raise healthCheckInterval',
  ];
};
