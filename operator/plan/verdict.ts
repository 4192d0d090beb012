import type { KubeObject } from '../object.ts';
import { violationText, violationsOf } from '../validate/index.ts';
import { type StallingCause, fact, stallingCause } from './conditions.ts';
import type { Contract } from './contract.ts';
import type { PlannedCondition } from './plan.ts';
import type { Reason } from './reasons.ts';
import { type ResolvedReference, lookUpIn } from './references.ts';

/** What speaks against using an object as its spec says; nothing when there are no complaints. */
export interface Verdict {
  /** Reason of the condition. */
  readonly conditionReason: Reason;
  readonly complaints: readonly string[];
  /** Those that no other object can mend. */
  readonly stalledBy: readonly StallingCause[];
}

/** Judges an object by what is supported, then by the rules of `operator/validate`. */
export const verdictOn = (
  { config, references }: { readonly config: KubeObject; readonly references: readonly ResolvedReference[] },
  contract: Contract,
): Verdict => {
  const unsupported = contract.unsupportedFields(config.kind, config['spec']);
  if (unsupported.length > 0) {
    const complaints = unsupported.map(({ message }) => message);
    return { conditionReason: 'NotSupportedYet', complaints, stalledBy: unsupported };
  }
  const wrong = violationsOf(config, lookUpIn(references));
  const alone = wrong.length === 0 ? [] : violationsOf(config, () => undefined);
  return {
    conditionReason: wrong[0]?.conditionReason ?? 'Valid',
    complaints: wrong.map(violationText),
    stalledBy: alone.map(stallingCause),
  };
};

/** The condition `Valid` that states the verdict. */
export const validCondition = (
  { conditionReason, complaints }: Verdict,
  goodNews = 'whoever refers to it can use it',
): PlannedCondition =>
  complaints.length === 0
    ? fact('Valid', true, conditionReason, goodNews)
    : fact('Valid', false, conditionReason, complaints.join('; '));
