import * as z from 'zod';
import { checkEncoding, skipSpace, skipValue } from '../json-bytes.ts';
import { seal, sealedPart, sessionName, type SessionRef, unseal } from './session-name.ts';

/** What one replica tells another of a session, whose name is the one that `sessionName` gives. */
export type ReplicaMessage =
  /** The client answered elsewhere what this replica asked. `payload`: JSON text of the result, or of the error. */
  | {
      readonly kind: 'answer';
      readonly session: string;
      readonly ask: string;
      readonly outcome: 'result' | 'error';
      readonly payload: Buffer;
    }
  | { readonly kind: 'ended'; readonly session: string }
  /** Its record has changed in what replicas remember of it. */
  | { readonly kind: 'changed'; readonly session: string; readonly from?: string | undefined }
  /** `payload`: JSON text of the id of the request that the client gave up. */
  | { readonly kind: 'cancelled'; readonly session: string; readonly payload: Buffer }
  /** A whole JSON-RPC message for the client's open stream. */
  | { readonly kind: 'stream'; readonly session: string; readonly payload: Buffer };

export const MAX_PAYLOAD_BYTES = 8 * 1024 * 1024;
const MAX_HEAD_BYTES = 1024;
const NEWLINE = 0x0a;

const name = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/);

/** Newer versions may add members and kinds: the ones are dropped, the others ignored. */
const headSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('answer'), session: name, ask: name, outcome: z.enum(['result', 'error']) }),
  z.object({ kind: z.literal('ended'), session: name }),
  z.object({ kind: z.literal('changed'), session: name, from: name.optional() }),
  z.object({ kind: z.literal('cancelled'), session: name }),
  z.object({ kind: z.literal('stream'), session: name }),
]);

/** Of a message that names its session by itself. */
export type Told = DistributiveOmit<ReplicaMessage, 'session'>;
type DistributiveOmit<T, K extends keyof ReplicaMessage> = T extends ReplicaMessage ? Omit<T, K> : never;

/** Sealed: one line of JSON, then the payload byte by byte as it came. */
export const encodeMessage = (session: SessionRef, told: Told): Buffer => {
  const { payload = EMPTY, ...head } = { payload: undefined, ...told, session: sessionName(session) };
  return seal(session, MESSAGE, Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), payload]));
};

const MESSAGE = 'message';

const EMPTY = Buffer.alloc(0);

/**
 * Undefined: nothing that this version knows, or about a session that this replica does not. Whoever can write to the store may have
 * sent it, so all of it is checked.
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
