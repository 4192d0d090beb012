import type { Attempts } from './attempt.ts';
import type { StepConfig } from './step.ts';

/** docs/composite-tools.md "When a step fails" */
const RETRY_DELAY_MS = 1_000;

export const attemptsOf = ({ timeout, onError }: Pick<StepConfig, 'timeout' | 'onError'>): Attempts => ({
  timeoutMs: timeout,
  retryCount: onError?.action === 'retry' ? (onError.retryCount ?? 0) : 0,
  retryDelayMs: onError?.retryDelay ?? RETRY_DELAY_MS,
});
