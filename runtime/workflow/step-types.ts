import type { StepConfig, StepType } from './step.ts';
import { elicitationStep } from './steps/elicitation.ts';
import { forEachStep } from './steps/for-each.ts';
import { toolStep } from './steps/tool.ts';

/** The types of steps, by the word that the configuration has for each. */
export const STEP_TYPES: Readonly<Record<StepConfig['type'], StepType>> = {
  tool: toolStep,
  elicitation: elicitationStep,
  forEach: forEachStep,
};
