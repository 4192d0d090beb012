import type { Access } from '../call/index.ts';
import type { ExaminedPolicies, Gate } from '../gate/index.ts';
import type { Step } from './explanation.ts';
import type { Found } from './found.ts';

/** What the policies say, by their ids. */
export const policiesStep = async (
  access: Access,
  { target, refusal }: Found,
  { policies, examinePolicies }: Pick<Gate, 'policies' | 'examinePolicies'>,
): Promise<Step> => {
  if (policies?.() === undefined)
    return {
      step: 'policies',
      outcome: 'skipped',
      reason: 'there are no policies: every caller may use what is offered',
    };
  if (target?.kind === 'builtin')
    return { step: 'policies', outcome: 'skipped', reason: 'no policy is asked about a tool of the optimizer itself' };
  if (!target) return { step: 'policies', outcome: 'skipped', reason: `there is no ${access.names} of that name` };
  const examined = await examinePolicies?.(access, target);
  if (!examined) return { step: 'policies', outcome: 'unknown', reason: 'the policies cannot be asked' };
  const { decision, concerned, claims, args, missingClaims } = examined;
  // Look-up refuses what no call could be admitted of.
  const isRefused = !decision.isAllowed || refusal?.code === 'forbidden';
  return {
    step: 'policies',
    outcome: isRefused ? 'refused' : 'ok',
    ...(isRefused ? whyRefused(examined) : whyAllowed(examined)),
    decisive: decision.policies,
    failed: decision.failed,
    dryRun: decision.dryRun,
    concerned,
    claims,
    missingClaims,
    arguments: args,
  };
};

type Why = Pick<Step, 'reason' | 'remedy'>;

const whyAllowed = ({ decision }: ExaminedPolicies): Why => ({
  reason: `permitted by ${namesOf(decision.policies)}${dryRunText(decision.dryRun, 'forbid')}`,
});

const whyRefused = ({ decision, concerned, missingClaims, isWithoutClaims }: ExaminedPolicies): Why => {
  const also = dryRunText(decision.dryRun, 'permit');
  if (isWithoutClaims)
    return { reason: 'the claims that policies read cannot be had', remedy: 'see authz.primaryUpstreamProvider' };
  if (decision.failed.length > 0)
    return {
      reason: `evaluation failed of ${namesOf(decision.failed)}, which refuses${also}`,
      remedy: `test with "has" before reading a claim or an argument that may be missing${lackOf(missingClaims)}`,
    };
  if (decision.policies.length > 0)
    return {
      reason: `forbidden by ${namesOf(decision.policies)}${also}`,
      remedy: 'change that policy, or call with what it does not forbid',
    };
  if (concerned.length === 0)
    return {
      reason: `no policy concerns it, and what none permits is refused${also}`,
      remedy: 'add a policy that permits it',
    };
  return {
    reason: `none of the policies that concern it (${namesOf(concerned)}) permits it to this caller${also}`,
    remedy: `change the conditions of a permit, or the claims or arguments that they read${lackOf(missingClaims)}`,
  };
};

const lackOf = (claims: readonly string[]): string =>
  claims.length === 0 ? '' : `; the token has no claim ${namesOf(claims)}`;

const dryRunText = (ids: readonly string[], verb: 'forbid' | 'permit'): string =>
  ids.length === 0 ? '' : `; ${namesOf(ids)} (dry run) would ${verb} it`;

const namesOf = (ids: readonly string[]): string => ids.map((id) => `"${id}"`).join(', ');
