/*
 * Kubernetes' strategic merge patch, as kubectl and the API server apply it to a pod template: lists are merged by key.
 * Pure, and free of our kinds. problems.ts finds what the API server would refuse before anything is merged.
 * Start with merge.ts; merge-keys.ts is the table of lists and their keys.
 */

export { type MergeKeys, POD_TEMPLATE_KEYS } from './merge-keys.ts';
export { strategicMerge } from './merge.ts';
export { type PatchProblem, patchProblems } from './problems.ts';
