export { connectStrategy } from './strategies.ts';
export type { Attention, AwaitedAnswer, BackendRequest, BackendResponse, Fetch, Prove } from './fetch.ts';
