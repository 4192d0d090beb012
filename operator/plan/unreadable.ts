import type { KubeObject } from '../object.ts';
import { unreadable, violationText } from '../validate/index.ts';
import { DEGRADING, type PhasesWithProblems } from './lowered-phases.ts';
import type { Plan } from './plan.ts';
import { planOfUnplanned } from './unplanned.ts';

/** The plan of an object that nothing but its status can be made of; undefined for every other one. Children stay as they are. */
export const planOfUnreadable = (object: KubeObject, phases: PhasesWithProblems = DEGRADING): Plan | undefined => {
  const why = unreadable(object);
  return why && planOfUnplanned(object, { type: 'Valid', reason: why.word, message: violationText(why), phases });
};
