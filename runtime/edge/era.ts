import type { Caller, Inbound, Message } from '../call/index.ts';
import { VmcpError } from '../errors.ts';
import { readEnvelope, type Envelope } from './envelope.ts';
import { MODERN_REVISION } from '../mcp/index.ts';

/**
 * One generation of the protocol. `legacy`: 2024-11-05 to 2025-11-25, with handshake and sessions. `modern`: 2026-07-28
 * and later, where each request speaks for itself.
 */
export interface Era {
  /**
   * Reads one message of a client; returns a promise only where a session has to be loaded or a call has to wait for
   * its turn.
   */
  readonly parse: (envelope: Envelope, request: Inbound, caller: Caller) => Message | Promise<Message>;
}

/** The era that has sessions, which DELETE ends, and streams of their own, which GET opens. */
export interface EraWithSessions extends Era {
  readonly listen: (request: Inbound, caller: Caller) => Message;
  readonly end: (request: Inbound, caller: Caller) => Message;
}

export interface Eras {
  readonly legacy: EraWithSessions;
  readonly modern: Era;
}

/**
 * Each request is of one era, whatever came before it on the connection. Once the request's id is known, errors become
 * its answer.
 */
export const parseByEra =
  (eras: Eras) =>
  (request: Inbound, caller: Caller): Message | Promise<Message> => {
    if (request.http === 'GET') return eras.legacy.listen(request, caller);
    if (request.http === 'DELETE') return eras.legacy.end(request, caller);
    const envelope = readEnvelope(request.body);
    try {
      const era = eraOf(envelope, request);
      if (era === 'modern' && request.endpoint === 'messages')
        return envelope.id ? refusal(envelope, notOverSse()) : ignored(envelope);
      const message = eras[era].parse(envelope, request, caller);
      return message instanceof Promise ? message.catch((error: unknown) => refusal(envelope, error)) : message;
    } catch (error) {
      return refusal(envelope, error);
    }
  };

const refusal = (envelope: Envelope, error: unknown): Message => ({
  kind: 'local',
  id: envelope.id,
  method: methodIn(envelope),
  answer: () => {
    throw error;
  },
});

/**
 * A request of 2026-07-28 ends with its own response, and closing it is how its client cancels; on the stream of
 * another request there is no such end. The code is the one that a client which tries this revision first takes for an
 * older server.
 */
const notOverSse = (): VmcpError =>
  new VmcpError('unsupported_protocol_version', 'revision 2026-07-28 is not served over HTTP+SSE');

const ignored = (envelope: Envelope): Message => ({
  kind: 'local',
  id: undefined,
  method: methodIn(envelope),
  answer: () => ({ kind: 'whole', status: 202 }),
});

/** The `method` of a local `Message`. */
export const methodIn = ({ kind, method }: Envelope): string => (kind === 'response' ? kind : method);

/**
 * The body decides, since some clients send headers of another revision; only a client without a session can mean the
 * newer revision by the header alone.
 */
const eraOf = ({ reserved, method }: Envelope, { headers, sessionId }: Inbound): keyof Eras => {
  if (reserved.protocolVersion || method === 'server/discover') return 'modern';
  const hasSession = sessionId !== undefined || method === 'initialize';
  return !hasSession && headers['mcp-protocol-version'] === MODERN_REVISION ? 'modern' : 'legacy';
};
