import * as z from 'zod';
import { checkEncoding, skipSpace, skipValue } from '../json/index.ts';
import { seal, sealedPart, sessionName, type SessionRef, unseal } from './session-name.ts';

/** A message between replicas about a session, whose name is that of `sessionName`. */
export type ReplicaMessage =
  /**
   * Another replica has received the client's response to a request of this one. `payload`: JSON text of the result, or
   * of the error.
   */
  | {
      readonly kind: 'answer';
      readonly session: string;
      readonly ask: string;
      readonly outcome: 'result' | 'error';
      readonly payload: Buffer;
    }
  | { readonly kind: 'ended'; readonly session: string }
  /** The session's record has changed in a part that replicas cache. */
  | { readonly kind: 'changed'; readonly session: string; readonly from?: string | undefined }
  /** `payload`: JSON text of the id of the request that the client has cancelled. */
  | { readonly kind: 'cancelled'; readonly session: string; readonly payload: Buffer }
  /** A whole JSON-RPC message for the client's open stream. */
  | { readonly kind: 'stream'; readonly session: string; readonly payload: Buffer };

export const MAX_PAYLOAD_BYTES = 8 * 1024 * 1024;
const MAX_HEAD_BYTES = 1024;
const NEWLINE = 0x0a;

const name = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/);

/** Newer versions may add members and kinds: unknown members are dropped, messages of unknown kinds ignored. */
const headSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('answer'), session: name, ask: name, outcome: z.enum(['result', 'error']) }),
  z.object({ kind: z.literal('ended'), session: name }),
  z.object({ kind: z.literal('changed'), session: name, from: name.optional() }),
  z.object({ kind: z.literal('cancelled'), session: name }),
  z.object({ kind: z.literal('stream'), session: name }),
]);

/** A message without the session's name, which `encodeMessage` adds. */
export type MessageBody = DistributiveOmit<ReplicaMessage, 'session'>;
type DistributiveOmit<T, K extends keyof ReplicaMessage> = T extends ReplicaMessage ? Omit<T, K> : never;

/** Sealed: one line of JSON, then the payload byte by byte as it came. */
export const encodeMessage = (session: SessionRef, told: MessageBody): Buffer => {
  const { payload = EMPTY, ...head } = { payload: undefined, ...told, session: sessionName(session) };
  return seal(session, MESSAGE, Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), payload]));
};

const MESSAGE = 'message';

const EMPTY = Buffer.alloc(0);

/**
 * Undefined: this version does not know the message, or this replica does not know the session. Any client of the store
 * may have sent the message, so all of it is checked.
 */
export const decodeMessage = (
  sealed: Buffer,
  sessionOf: (name: string) => SessionRef | undefined,
): ReplicaMessage | undefined => {
  const bytes = sealedPart(sealed);
  const end = bytes.subarray(0, MAX_HEAD_BYTES).indexOf(NEWLINE);
  if (end < 0 || bytes.length - end - 1 > MAX_PAYLOAD_BYTES) return undefined;
  const { data: head } = headSchema.safeParse(jsonOf(bytes.subarray(0, end)));
  const session = head && sessionOf(head.session);
  if (!session || !unseal(session, MESSAGE, sealed)) return undefined;
  if (head.kind === 'ended' || head.kind === 'changed') return head;
  const payload = bytes.subarray(end + 1);
  return isJson(payload) ? { ...head, payload } : undefined;
};

const jsonOf = (text: Buffer): unknown => {
  try {
    return JSON.parse(text.toString());
  } catch {
    return undefined;
  }
};

const isJson = (text: Buffer): boolean => {
  try {
    checkEncoding(text);
    return skipSpace(text, skipValue(text, skipSpace(text, 0))) === text.length;
  } catch {
    return false;
  }
};
