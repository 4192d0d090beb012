export { type MergeKeys, POD_TEMPLATE_KEYS } from './merge-keys.ts';
export { strategicMerge } from './merge.ts';
export { type PatchProblem, patchProblems } from './problems.ts';
