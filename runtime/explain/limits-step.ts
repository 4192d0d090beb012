import type { Access } from '../call/index.ts';
import { asVmcpError } from '../errors.ts';
import type { ExaminedLimits, Gate } from '../gate/index.ts';
import type { Step } from './explanation.ts';
import type { Found } from './found.ts';

/** Which limits count a request, and what is left of them. Nothing is taken. */
export const limitsStep = async (
  access: Access,
  { refusal }: Found,
  { examineLimits }: Pick<Gate, 'examineLimits'>,
): Promise<Step> => {
  if (refusal) return { step: 'limits', outcome: 'skipped', reason: 'what is refused is not counted' };
  try {
    return stepOf((await examineLimits?.(access)) ?? { buckets: [] });
  } catch (error) {
    const { code } = asVmcpError(error);
    if (code !== 'store_unavailable') throw error;
    return {
      step: 'limits',
      outcome: 'refused',
      code,
      reason: 'the store that counts for all replicas does not answer, and extensions.rateLimiting says to refuse then',
      remedy: 'see to the store, or set extensions.rateLimiting.whenStoreUnavailable',
    };
  }
};

const stepOf = ({ buckets: examined, outage }: ExaminedLimits): Step => {
  if (outage === 'allow')
    return { step: 'limits', outcome: 'ok', outage, reason: 'the store is away, and nothing is limited meanwhile' };
  if (examined.length === 0) return { step: 'limits', outcome: 'skipped', reason: 'no limit counts this' };
  const buckets = examined.map(({ scope, isPerUser, capacity, refillPeriodMs, available, waitMs }) => ({
    scope,
    per: isPerUser ? ('user' as const) : ('all' as const),
    capacity,
    refillPeriodSeconds: refillPeriodMs / 1_000,
    available,
    retryAfterSeconds: waitMs / 1_000,
  }));
  const waitSeconds = Math.max(...buckets.map(({ retryAfterSeconds }) => retryAfterSeconds));
  const common = { step: 'limits', ...(outage && { outage }), buckets } as const;
  const texts = buckets.map(
    ({ scope, per, capacity, available }) => `${SCOPE[scope]}, ${PER[per]}: ${available} of ${capacity} left`,
  );
  if (waitSeconds === 0) return { ...common, outcome: 'ok', reason: texts.join('; ') };
  return {
    ...common,
    outcome: 'refused',
    code: 'rate_limited',
    retryAfterSeconds: waitSeconds,
    reason: `used up for ${waitSeconds} s (${texts.join('; ')})`,
    remedy: 'wait, or change config.rateLimiting',
  };
};

const SCOPE = { server: 'limit of the server', tool: 'limit of the tool' } as const;
const PER = { user: 'of this user', all: 'of all callers' } as const;
