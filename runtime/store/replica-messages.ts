import { VmcpError } from '../errors.ts';
import {
  decodeMessage,
  encodeMessage,
  MAX_PAYLOAD_BYTES,
  type ReplicaMessage,
  type MessageBody,
} from './replica-message.ts';
import { keyOf, sessionName, type SessionRef } from './session-name.ts';
import { Outbox } from './outbox.ts';
import type { Store, Subscription } from './store.ts';

type MessageOf<K extends ReplicaMessage['kind']> = Extract<ReplicaMessage, { readonly kind: K }>;

/**
 * Handlers of the messages. Unless they say otherwise they are called for messages of this replica, too. They must not
 * throw.
 */
export interface ReplicaListeners {
  /** The session of this name, when this replica knows it; messages about other sessions are ignored. */
  readonly sessionOf: (name: string) => SessionRef | undefined;
  /** The receiver checks that it asked this in this session. */
  readonly answered: (answer: MessageOf<'answer'>) => void;
  readonly sessionEnded: (session: string) => void;
  /** Called only for changes by other replicas. */
  readonly sessionChanged: (session: string) => void;
  /** `requestId` is JSON text. */
  readonly requestCancelled: (session: string, requestId: Buffer) => void;
}

/**
 * Messages between replicas. Sending may throw VmcpError `store_unavailable`; messages that are lost in an outage stay
 * lost.
 */
export interface ReplicaMessages {
  /** Resolves when messages of other replicas arrive here. */
  readonly isLive: Promise<void>;
  /** A new id for a request to the client, which shows any replica which one waits for the response. */
  readonly newRequestId: () => string;
  /** Whether this replica made the id; then there is nothing to send. */
  readonly isOwnRequestId: (askId: string) => boolean;
  /**
   * Sends the client's response to the replica that made the request. False: no replica made the id. Throws
   * `overloaded` when too many bytes wait to be sent.
   */
  readonly sendAnswer: (session: SessionRef, answer: Omit<MessageOf<'answer'>, 'kind' | 'session'>) => Promise<boolean>;
  readonly announceEnd: (session: SessionRef) => Promise<void>;
  readonly announceChange: (session: SessionRef) => Promise<void>;
  readonly announceCancel: (session: SessionRef, requestId: Buffer) => Promise<void>;
  /**
   * Sends a message to the replica that holds the client's open stream, if one does. False: too many bytes wait to be
   * sent; the message is lost. Never throws.
   */
  readonly sendToStream: (session: SessionRef, message: Buffer) => boolean;
  /** Receives the messages for the client's stream, which this replica holds. */
  readonly listenForStream: (session: SessionRef, listener: (message: Buffer) => void) => Subscription;
  readonly close: () => void;
}

const ALL = 'replicas';
const replicaChannel = (replica: string): string => `replica:${replica}`;
const streamChannel = (session: SessionRef): string => keyOf('stream', sessionName(session));

/** `<replica>-<number>`: part of the id that a client returns becomes a channel name, so no other form is accepted. */
const ASK_ID = /^(?<replica>[a-z0-9]{16,32})-[0-9]{1,15}$/;

/** Subscribes this replica to messages of the others, until `close`. */
export const replicaMessages = (
  store: Store,
  listeners: ReplicaListeners,
  /** 16 to 32 lower-case letters and digits, at random. */
  replica: string,
): ReplicaMessages => {
  let asked = 0;
  // One for messages of clients and one for those of backends, so that neither takes the room of the other.
  const [answers, streamed] = [new Outbox(), new Outbox()];
  const hear = (bytes: Buffer): void => {
    const message = decodeMessage(bytes, listeners.sessionOf);
    if (message && !(message.kind === 'changed' && message.from === replica)) dispatch(message, listeners);
  };
  const subscriptions = [ALL, replicaChannel(replica)].map((channel) => store.subscribe(channel, hear));
  const announce = (session: SessionRef, told: MessageBody): Promise<void> =>
    store.publish(ALL, encodeMessage(session, told));
  return {
    isLive: Promise.all(subscriptions.map(({ isLive }) => isLive)).then(() => undefined),
    newRequestId: () => `${replica}-${(asked += 1)}`,
    isOwnRequestId: (askId) => replicaOf(askId) === replica,
    sendAnswer: async (session, answer) => {
      const waiting = replicaOf(answer.ask);
      if (waiting === undefined) return false;
      checkPayload(answer.payload);
      // This replica cannot know whether the request exists; a client may send any number of responses.
      const taken = answers.enter(sessionName(session), answer.payload.length);
      if (!taken) throw new VmcpError('overloaded', 'too much waits to be sent to another replica; try again');
      const message = encodeMessage(session, { kind: 'answer', ...answer });
      await store.publish(replicaChannel(waiting), message, 'withoutDeadline').finally(taken);
      return true;
    },
    announceEnd: (session) => announce(session, { kind: 'ended' }),
    announceChange: (session) => announce(session, { kind: 'changed', from: replica }),
    announceCancel: (session, requestId) => announce(session, { kind: 'cancelled', payload: requestId }),
    sendToStream: (session, payload) => {
      const taken =
        payload.length <= MAX_PAYLOAD_BYTES ? streamed.enter(sessionName(session), payload.length) : undefined;
      if (!taken) return false;
      const message = encodeMessage(session, { kind: 'stream', payload });
      // Messages are not kept: those lost in an outage stay lost.
      void store.publish(streamChannel(session), message, 'withoutDeadline').then(taken, taken);
      return true;
    },
    listenForStream: (session, listener) =>
      store.subscribe(streamChannel(session), (bytes) => {
        const message = decodeMessage(bytes, (name) => (name === sessionName(session) ? session : undefined));
        if (message?.kind === 'stream') listener(message.payload);
      }),
    close: () => {
      for (const { end } of subscriptions) end();
    },
  };
};

const checkPayload = ({ length }: Buffer): void => {
  if (length > MAX_PAYLOAD_BYTES)
    throw new VmcpError('body_too_large', `more than ${MAX_PAYLOAD_BYTES} bytes cannot be sent to another replica`);
};

const replicaOf = (askId: string): string | undefined => ASK_ID.exec(askId)?.groups?.['replica'];

const dispatch = (message: ReplicaMessage, listeners: ReplicaListeners): void => {
  switch (message.kind) {
    case 'answer':
      return listeners.answered(message);
    case 'ended':
      return listeners.sessionEnded(message.session);
    case 'changed':
      return listeners.sessionChanged(message.session);
    case 'cancelled':
      return listeners.requestCancelled(message.session, message.payload);
    // Streams have channels of their own.
    case 'stream':
      return undefined;
    default:
      return message satisfies never;
  }
};
