import type { PolicyDecision } from '../../call/index.ts';
import { lineWindows, type Log } from '../../observe/index.ts';
import type { CedarFailure } from './engine.ts';

/**
 * Logs what the people who write policies have to know; never what a client sent or a token says. Of one policy at most
 * ten lines in ten seconds.
 */
export const policyLog = (log: Pick<Log, 'info' | 'warn' | 'error'>, now: () => number) => {
  const leftOut = lineWindows(now);
  const line = (level: 'info' | 'warn', fields: Readonly<Record<string, unknown>>, message: string): void => {
    const unsaid = leftOut(`${message} ${String(fields['policy'])}`);
    if (unsaid !== undefined) log[level]({ ...fields, ...(unsaid > 0 && { unsaid }) }, message);
  };
  return {
    decision: ({ isAllowed, failed, dryRun }: PolicyDecision): void => {
      for (const policy of failed) line('warn', { policy }, 'policy could not be evaluated, access denied');
      for (const policy of dryRun)
        line(
          'info',
          { policy, wouldHave: isAllowed ? 'denied' : 'permitted' },
          'policy in dry run would decide otherwise',
        );
    },
    noClaims: (): void => line('warn', {}, 'the claims that policies read cannot be had, access denied'),
    failure: (err: CedarFailure): void => {
      const unsaid = leftOut('failure');
      if (unsaid !== undefined)
        log.error({ err: err.cause ?? err, unsaid }, 'policies could not be evaluated, access denied');
    },
  };
};
