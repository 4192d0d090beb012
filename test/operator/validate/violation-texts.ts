import type { KubeObject } from '../../../operator/object.ts';
import { type LookUp, violationText, violationsOf } from '../../../operator/validate/index.ts';

/** The rules that this object breaks, in the words that a user reads. */
export const toldOf = (object: KubeObject, lookUp: LookUp = () => undefined): readonly string[] =>
  violationsOf(object, lookUp).map(violationText);
