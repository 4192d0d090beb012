export { connectStrategy } from './strategies.ts';
export type { Attention, BackendRequest, BackendResponse, Fetch, Prove } from './fetch.ts';
