import type { Caller, Inbound, Message } from '../call.ts';
import { readEnvelope, type Envelope } from './envelope.ts';

/**
 * One generation of the protocol. `legacy`: 2025-03-26 to 2025-11-25, with handshake and sessions. `modern`: 2026-07-28 and later,
 * where each request speaks for itself.
 */
export interface Era {
  /** What the request is. A refusal throws, or is the message's answer when the id is known. */
  readonly parse: (envelope: Envelope, request: Inbound, caller: Caller) => Message;
}

export interface Eras {
  readonly legacy: Era;
  readonly modern: Era;
}

/** Each request is of one era, whatever came before it on the connection. */
export const parseByEra =
  (eras: Eras) =>
  (request: Inbound, caller: Caller): Message => {
    const envelope = readEnvelope(request.body);
    const era = eras[eraOf(envelope)];
    try {
      return era.parse(envelope, request, caller);
    } catch (error) {
      const refuse = (): never => {
        throw error;
      };
      return { kind: 'local', id: envelope.id, answer: refuse };
    }
  };

/** mcp-protocol §1.3: the body decides, since some clients send headers of another revision. */
const eraOf = (envelope: Envelope): keyof Eras =>
  envelope.namesRevision || envelope.method === 'server/discover' ? 'modern' : 'legacy';
