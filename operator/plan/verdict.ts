import type { KubeObject } from '../object.ts';
import { violationText, violationsOf } from '../validate/index.ts';
import { fact } from './conditions.ts';
import type { Contract } from './contract.ts';
import type { PlannedCondition } from './plan.ts';
import { type ResolvedReference, lookUpIn } from './references.ts';
import type { Reason } from './reasons.ts';

/** What speaks against using an object as its spec says; nothing when there are no complaints. */
export interface Verdict {
  /** Reason of the condition. */
  readonly word: Reason;
  readonly complaints: readonly string[];
}

export const verdictOn = (
  { config, references }: { readonly config: KubeObject; readonly references: readonly ResolvedReference[] },
  contract: Contract,
  /** What of the spec has to be supported for that. */
  asked: unknown = config['spec'],
): Verdict => {
  const unsupported = contract.unsupportedFields(config.kind, asked);
  if (unsupported.length > 0) {
    return { word: 'NotSupportedYet', complaints: unsupported.map(({ message }) => message) };
  }
  const wrong = violationsOf(config, lookUpIn(references));
  return { word: wrong[0]?.word ?? 'Valid', complaints: wrong.map(violationText) };
};

export const validCondition = (
  { word, complaints }: Verdict,
  goodNews = 'whoever refers to it can use it',
): PlannedCondition =>
  complaints.length === 0 ? fact('Valid', true, word, goodNews) : fact('Valid', false, word, complaints.join('; '));
