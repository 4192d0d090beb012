/**
 * Users whose access was ended by who runs the server: what was issued to them up to that moment is refused, and what
 * is open for them ends, on all replicas that share a store. Start at `user-revocations.ts`.
 */

export { type Ended, type Revoked, type UserRevocations, userRevocations } from './user-revocations.ts';
