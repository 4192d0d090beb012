import * as z from 'zod';
import { keyOf, seal, sessionName, type SessionRef, unseal } from './session-name.ts';

/** What the replica that its client has come back to tells the one that holds a call. */
export type ToHolder =
  | {
      readonly kind: 'goOn';
      /** Names the request among those of all replicas. */
      readonly round: string;
      readonly state: string;
      /** Digest of who asks for what. */
      readonly request: string;
      /** JSON text of the request's id. */
      readonly id: string;
      /** JSON text. */
      readonly progressToken?: string | undefined;
      /** Least severe log message that the request wants; absent: none. */
      readonly logLevel?: string | undefined;
      /** JSON text of `inputResponses`. */
      readonly payload: Buffer;
    }
  /** The client has gone. */
  | { readonly kind: 'gone'; readonly round: string };

/** What it is told in return, for one request. */
export type ToRound =
  /** The call is there, and nothing has happened yet. */
  | { readonly kind: 'alive' }
  /** A whole JSON-RPC notification. */
  | { readonly kind: 'notification'; readonly payload: Buffer }
  /** The whole JSON-RPC response. */
  | { readonly kind: 'reply'; readonly status: number; readonly payload: Buffer }
  | {
      readonly kind: 'refusal';
      readonly code: string;
      readonly message: string;
      readonly data?: Readonly<Record<string, unknown>> | undefined;
    };

/** Longest progress token that goes on with a call to another replica. */
export const MAX_PROGRESS_TOKEN_BYTES = 1_024;

/** Of one message, so that it fits into one of the store. */
export const MAX_HELD_PAYLOAD_BYTES = 8 * 1024 * 1024;

const NEWLINE = 0x0a;

/** Newer versions may add members and kinds: the ones are dropped, the others ignored. */
const toHolderSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('goOn'),
    round: z.string().max(64),
    state: z.string().max(128),
    request: z.string().max(64),
    id: z.string().max(512),
    progressToken: z.string().max(MAX_PROGRESS_TOKEN_BYTES).optional(),
    logLevel: z.string().max(16).optional(),
  }),
  z.object({ kind: z.literal('gone'), round: z.string().max(64) }),
]);

const toRoundSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('alive') }),
  z.object({ kind: z.literal('notification') }),
  z.object({ kind: z.literal('reply'), status: z.int().min(200).max(599) }),
  z.object({
    kind: z.literal('refusal'),
    code: z.string(),
    message: z.string(),
    data: z.record(z.string(), z.unknown()).optional(),
  }),
]);

/** Where the replica that holds a call listens, and whether one does. A call has a name among replicas as a session has. */
export const heldCallKey = (call: SessionRef): string => keyOf('held', sessionName(call));

/** Where it tells one request of the client what becomes of the call. */
export const heldRoundChannel = (call: SessionRef, round: string): string =>
  `${keyOf('held', sessionName(call))}:${round}`;

/** Sealed: one line of JSON, then the payload byte by byte. */
export const encodeHeld = (call: SessionRef, message: ToHolder | ToRound): Buffer => {
  const { payload = EMPTY, ...head } = { payload: undefined, ...message };
  return seal(call, HELD, Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), payload]));
};

/** Undefined: nothing that this version knows, or from somebody who does not know the call. */
export const decodeToHolder = (call: SessionRef, sealed: Buffer): ToHolder | undefined =>
  decoded(call, sealed, toHolderSchema);

export const decodeToRound = (call: SessionRef, sealed: Buffer): ToRound | undefined =>
  decoded(call, sealed, toRoundSchema);

const HELD = 'held';
const EMPTY = Buffer.alloc(0);

const decoded = <T extends object>(
  call: SessionRef,
  sealed: Buffer,
  schema: z.ZodType<T>,
): (T & { readonly payload: Buffer }) | undefined => {
  const bytes = unseal(call, HELD, sealed);
  const end = bytes?.indexOf(NEWLINE) ?? -1;
  if (!bytes || end < 0) return undefined;
  const { data } = schema.safeParse(jsonOf(bytes.subarray(0, end)));
  return data && { ...data, payload: bytes.subarray(end + 1) };
};

const jsonOf = (text: Buffer): unknown => {
  try {
    return JSON.parse(text.toString());
  } catch {
    return undefined;
  }
};
