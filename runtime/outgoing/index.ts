export { unauthenticated } from './unauthenticated.ts';
export type { Attention, BackendRequest, BackendResponse, Fetch, Prove } from './fetch.ts';
