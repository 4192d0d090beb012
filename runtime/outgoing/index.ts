export { connectStrategy } from './strategies.ts';
export { CredentialCache, credentialKey } from './credential-cache.ts';
export type { Attention, AwaitedAnswer, BackendRequest, BackendResponse, Fetch } from './fetch.ts';
export type { AddressedFetch, AddressedRequest, ConnectStrategy, Prove, Strategy, StrategyDeps } from './strategy.ts';
