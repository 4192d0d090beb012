import * as z from 'zod';
import { keyOf, seal, sessionName, type SessionRef, unseal } from './session-name.ts';

/** A message from the replica that received a client's request to the one that holds its call. */
export type HeldCallRequest =
  | {
      readonly kind: 'goOn';
      /** Id of the request, unique among all replicas. */
      readonly round: string;
      readonly state: string;
      /** Digest of the client, the method, the name and the arguments. */
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
  /** The client has closed its request. */
  | { readonly kind: 'gone'; readonly round: string };

/** A message from the replica that holds the call, for one request. */
export type HeldCallReply =
  /** The call is still under way. */
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

/** Longest progress token that is passed on to another replica. */
export const MAX_PROGRESS_TOKEN_BYTES = 1_024;

/** Bytes of one payload, so that it fits into one message of the store. */
export const MAX_HELD_PAYLOAD_BYTES = 8 * 1024 * 1024;

const NEWLINE = 0x0a;

/** Newer versions may add members and kinds: unknown members are dropped, messages of unknown kinds ignored. */
const requestSchema = z.discriminatedUnion('kind', [
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

const replySchema = z.discriminatedUnion('kind', [
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

/**
 * Channel on which the holding replica receives, and key of the marker that the call is held. A call has a name among
 * replicas as a session has.
 */
export const heldCallKey = (call: SessionRef): string => keyOf('held', sessionName(call));

/** Channel on which the holding replica sends notifications and outcome for one request. */
export const heldRoundChannel = (call: SessionRef, round: string): string =>
  `${keyOf('held', sessionName(call))}:${round}`;

/** Sealed: one line of JSON, then the payload byte by byte. */
export const encodeHeld = (call: SessionRef, message: HeldCallRequest | HeldCallReply): Buffer => {
  const { payload = EMPTY, ...head } = { payload: undefined, ...message };
  return seal(call, HELD, Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), payload]));
};

/** Undefined: this version does not know the message, or its sender did not know the call. */
export const decodeHeldCallRequest = (call: SessionRef, sealed: Buffer): HeldCallRequest | undefined =>
  decoded(call, sealed, requestSchema);

/** Undefined as in `decodeHeldCallRequest`. */
export const decodeHeldCallReply = (call: SessionRef, sealed: Buffer): HeldCallReply | undefined =>
  decoded(call, sealed, replySchema);

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
