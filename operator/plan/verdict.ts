import type { KubeObject } from '../object.ts';
import { violationText, violationsOf } from '../validate/index.ts';
import { fact } from './conditions.ts';
import type { Contract } from './contract.ts';
import type { PlannedCondition } from './plan.ts';
import { type ResolvedReference, lookUpIn } from './references.ts';
import type { Reason } from './reasons.ts';
import { type StallingCause, stallingCause } from './stalled.ts';

/** What speaks against using an object as its spec says; nothing when there are no complaints. */
export interface Verdict {
  /** Reason of the condition. */
  readonly word: Reason;
  readonly complaints: readonly string[];
  /** Those that no other object can mend. */
  readonly stalledBy: readonly StallingCause[];
}

export const verdictOn = (
  { config, references }: { readonly config: KubeObject; readonly references: readonly ResolvedReference[] },
  contract: Contract,
  /** What of the spec has to be supported for that. */
  asked: unknown = config['spec'],
): Verdict => {
  const unsupported = contract.unsupportedFields(config.kind, asked);
  if (unsupported.length > 0) {
    const complaints = unsupported.map(({ message }) => message);
    return { word: 'NotSupportedYet', complaints, stalledBy: unsupported };
  }
  const wrong = violationsOf(config, lookUpIn(references));
  const alone = wrong.length === 0 ? [] : violationsOf(config, () => undefined);
  return {
    word: wrong[0]?.word ?? 'Valid',
    complaints: wrong.map(violationText),
    stalledBy: alone.map(stallingCause),
  };
};

export const validCondition = (
  { word, complaints }: Verdict,
  goodNews = 'whoever refers to it can use it',
): PlannedCondition =>
  complaints.length === 0 ? fact('Valid', true, word, goodNews) : fact('Valid', false, word, complaints.join('; '));
