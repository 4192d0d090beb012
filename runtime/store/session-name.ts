import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Caller } from '../call/index.ts';

/** A session as a request names it: the id alone is not enough. */
export interface SessionRef {
  readonly id: string;
  readonly caller: Caller;
}

/**
 * The name of a session among replicas: in keys, channels and messages. Made from the caller too, so that another
 * caller finds nothing, and one-way, so that a list of names gives no access to a session (docs/decisions.md
 * "Sessions").
 */
export const sessionName = ({ id, caller }: SessionRef): string => digest(JSON.stringify([id, ...textsOf(caller)]));

const textsOf = (caller: Caller): readonly string[] =>
  caller.kind === 'user' ? ['user', caller.issuer, caller.subject] : [caller.kind];

/** SHA-256 in base64url. */
export const digest = (text: string): string => createHash('sha256').update(text).digest('base64url');

/**
 * In a Redis Cluster only keys on one node can be counted and changed in one step, and not all keys should be on one
 * node. Names are digests, so the parts fill evenly.
 */
export const PARTS = 16;

/** The part of a session's name: 0 to PARTS - 1. */
export const partOf = (name: string): number => (Buffer.from(name.slice(0, 2), 'base64url')[0] ?? 0) % PARTS;

/** All keys of one session are on one node of a Redis Cluster: the hash tag (`{…}`) is the part of its name. */
export const keyOf = (what: string, name: string): string => `${what}:{${partOf(name)}}:${name}`;

const SEAL_BYTES = 16;

/**
 * `value` with a MAC that proves that its writer knows the session, whose id is nowhere in the store. `what` names the
 * purpose of the value, which is valid for no other. RFC 2104 §5: half of the digest is enough.
 */
export const seal = (session: SessionRef, what: string, value: Buffer): Buffer =>
  Buffer.concat([proofOf(session, what, value), value]);

/** Undefined: the writer did not know the session, or wrote the value for another purpose. */
export const unseal = (session: SessionRef, what: string, sealed: Buffer): Buffer | undefined => {
  if (sealed.length < SEAL_BYTES) return undefined;
  const value = sealed.subarray(SEAL_BYTES);
  return timingSafeEqual(sealed.subarray(0, SEAL_BYTES), proofOf(session, what, value)) ? value : undefined;
};

const proofOf = ({ id, caller }: SessionRef, what: string, value: Buffer): Buffer =>
  // Not keyed by the text whose digest is the name: HMAC uses the digest of a long key as the key (RFC 2104 §2), and
  // names are public.
  createHmac('sha256', id)
    .update(`${JSON.stringify([what, ...textsOf(caller)])}\n`)
    .update(value)
    .digest()
    .subarray(0, SEAL_BYTES);

/** The sealed value without a check of the MAC. */
export const sealedPart = (sealed: Buffer): Buffer => sealed.subarray(SEAL_BYTES);
