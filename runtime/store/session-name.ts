import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Caller } from '../call.ts';

/** A session as a request names it: the id alone opens nothing. */
export interface SessionRef {
  readonly id: string;
  readonly caller: Caller;
}

/**
 * The name of a session among replicas: in keys, channels and messages. Made from the caller too, so that another caller finds
 * nothing, and one-way, so that a list of names gives nobody a session (decisions "Sessions").
 */
export const sessionName = ({ id, caller }: SessionRef): string => digest(JSON.stringify([id, ...textsOf(caller)]));

const textsOf = (caller: Caller): readonly string[] =>
  caller.kind === 'user' ? ['user', caller.issuer, caller.subject] : [caller.kind];

export const digest = (text: string): string => createHash('sha256').update(text).digest('base64url');

/**
 * In a Redis Cluster only what lies on one node can be counted in one step with a change, and one node should not have all. Names are
 * digests, so that the parts fill evenly.
 */
export const PARTS = 16;

export const partOf = (name: string): number => (Buffer.from(name.slice(0, 2), 'base64url')[0] ?? 0) % PARTS;

/** What is one session's lies on one node of a Redis Cluster: the braces name the part that its name belongs to. */
export const keyOf = (what: string, name: string): string => `${what}:{${partOf(name)}}:${name}`;

const SEAL_BYTES = 16;

/**
 * `value` with a proof that whoever wrote it knows the session: its id is nowhere in the store. `what` tells for what it was written,
 * since it counts for nothing else. RFC 2104 §5: half of the digest is enough.
 */
export const seal = (session: SessionRef, what: string, value: Buffer): Buffer =>
  Buffer.concat([proofOf(session, what, value), value]);

/** Undefined: somebody else wrote it, or for something else. */
export const unseal = (session: SessionRef, what: string, sealed: Buffer): Buffer | undefined => {
  if (sealed.length < SEAL_BYTES) return undefined;
  const value = sealed.subarray(SEAL_BYTES);
  return timingSafeEqual(sealed.subarray(0, SEAL_BYTES), proofOf(session, what, value)) ? value : undefined;
};

const proofOf = ({ id, caller }: SessionRef, what: string, value: Buffer): Buffer =>
  // Not keyed by what the name is the digest of: HMAC takes a long key's digest for the key (RFC 2104 §2), and names are public.
  createHmac('sha256', id)
    .update(`${JSON.stringify([what, ...textsOf(caller)])}\n`)
    .update(value)
    .digest()
    .subarray(0, SEAL_BYTES);

/** What is sealed, where it can be seen without knowing the session. */
export const sealedPart = (sealed: Buffer): Buffer => sealed.subarray(SEAL_BYTES);
