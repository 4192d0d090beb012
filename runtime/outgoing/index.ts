export { unauthenticated } from './unauthenticated.ts';
export type { BackendRequest, BackendResponse, Fetch, Prove } from './fetch.ts';
