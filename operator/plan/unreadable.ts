import type { KubeObject } from '../object.ts';
import { nestedTooDeep, violationText } from '../validate/index.ts';
import { fact, warningsOf } from './conditions.ts';
import type { Plan } from './plan.ts';
import { stalled, stallingCause } from './stalled.ts';

/** The plan of an object that nothing but its status can be made of; undefined for every other one. Children stay as they are. */
export const planOfUnreadable = (object: KubeObject): Plan | undefined => {
  const deep = nestedTooDeep(object);
  if (deep === undefined) return undefined;
  const { generation } = object.metadata;
  const conditions = [
    fact('Valid', false, deep.word, violationText(deep)),
    fact('Ready', false, deep.word, violationText(deep)),
    ...stalled([stallingCause(deep)]),
  ];
  return {
    status: { ...(generation !== undefined && { observedGeneration: generation }), conditions },
    events: warningsOf(conditions.slice(0, 1)),
  };
};
