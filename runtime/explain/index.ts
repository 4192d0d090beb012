/**
 * Why may this caller use a tool, a prompt or a resource, or why not? Asks the same parts that decide about a request,
 * in the same order, takes nothing and sends nothing to a backend for a call. Tokens, values of claims (but issuer,
 * subject and client), arguments and addresses are in no answer. Start at `explain.ts`.
 */

export { type AskedClient, askToExplain } from './ask.ts';
export { answerQuestion, type ExplainDeps, explainer } from './explain.ts';
export type { Explanation } from './explanation.ts';
export type { ExplainSearch } from './search-step.ts';
