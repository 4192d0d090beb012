import { VmcpError } from '../errors.ts';
import { decodeMessage, encodeMessage, MAX_PAYLOAD_BYTES, type ReplicaMessage, type Told } from './replica-message.ts';
import { keyOf, sessionName, type SessionRef } from './session-name.ts';
import { Outbox } from './outbox.ts';
import type { Store, Subscription } from './store.ts';

type Heard<K extends ReplicaMessage['kind']> = Extract<ReplicaMessage, { readonly kind: K }>;

/** What the edge does on hearing of each. Those without a word on it are called for messages of this replica too. None may throw. */
export interface ReplicaListeners {
  /** The session of this name, when this replica knows it; messages about others are not heard. */
  readonly sessionOf: (name: string) => SessionRef | undefined;
  /** The receiver checks that it asked this in this session. */
  readonly answered: (answer: Heard<'answer'>) => void;
  readonly sessionEnded: (session: string) => void;
  /** Only what other replicas have changed. */
  readonly sessionChanged: (session: string) => void;
  /** `requestId` is JSON text. */
  readonly requestCancelled: (session: string, requestId: Buffer) => void;
}

/** Between replicas. What is sent may throw VmcpError `store_unavailable`; what is lost in an outage stays lost. */
export interface ReplicaMessages {
  /** Resolves when this replica hears what others tell it. */
  readonly isLive: Promise<void>;
  /** An id for a request to the client, that tells any replica who waits for its answer. */
  readonly newAskId: () => string;
  /** Whether this replica gave out the id; then there is nothing to send. */
  readonly isOwnAskId: (askId: string) => boolean;
  /** Takes the client's answer to the replica that asked. False: the id is none that a replica gave out. Throws `overloaded` when too much waits to be sent. */
  readonly sendAnswer: (session: SessionRef, answer: Omit<Heard<'answer'>, 'kind' | 'session'>) => Promise<boolean>;
  readonly announceEnd: (session: SessionRef) => Promise<void>;
  readonly announceChange: (session: SessionRef) => Promise<void>;
  readonly announceCancel: (session: SessionRef, requestId: Buffer) => Promise<void>;
  /** To the replica that holds the client's open stream, if any does. False: too much waits to be sent; the message is lost. Never throws. */
  readonly sendToStream: (session: SessionRef, message: Buffer) => boolean;
  /** This replica holds the client's open stream. */
  readonly listenForStream: (session: SessionRef, listener: (message: Buffer) => void) => Subscription;
  readonly close: () => void;
}

const ALL = 'replicas';
const replicaChannel = (replica: string): string => `replica:${replica}`;
const streamChannel = (session: SessionRef): string => keyOf('stream', sessionName(session));

/** `<replica>-<number>`: what a client sends back becomes a channel name, so nothing else is taken. */
const ASK_ID = /^(?<replica>[a-z0-9]{16,32})-[0-9]{1,15}$/;

export const replicaMessages = (
  store: Store,
  listeners: ReplicaListeners,
  /** 16 to 32 lower-case letters and digits, at random. */
  replica: string,
): ReplicaMessages => {
  let asked = 0;
  // Of clients and of backends, so that neither takes the room of the other.
  const [answers, streamed] = [new Outbox(), new Outbox()];
  const hear = (bytes: Buffer): void => {
    const message = decodeMessage(bytes, listeners.sessionOf);
    if (message && !(message.kind === 'changed' && message.from === replica)) dispatch(message, listeners);
  };
  const subscriptions = [ALL, replicaChannel(replica)].map((channel) => store.subscribe(channel, hear));
  const announce = (session: SessionRef, told: Told): Promise<void> => store.publish(ALL, encodeMessage(session, told));
  return {
    isLive: Promise.all(subscriptions.map(({ isLive }) => isLive)).then(() => undefined),
    newAskId: () => `${replica}-${(asked += 1)}`,
    isOwnAskId: (askId) => replicaOf(askId) === replica,
    sendAnswer: async (session, answer) => {
      const waiting = replicaOf(answer.ask);
      if (waiting === undefined) return false;
      checkPayload(answer.payload);
      // Nobody here knows whether it was asked; a client may send as many as it likes.
      const taken = answers.enter(sessionName(session), answer.payload.length);
      if (!taken) throw new VmcpError('overloaded', 'too much waits to be sent to another replica; try again');
      const message = encodeMessage(session, { kind: 'answer', ...answer });
      await store.publish(replicaChannel(waiting), message, 'patiently').finally(taken);
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
      // Nobody keeps messages: what is lost in an outage stays lost.
      void store.publish(streamChannel(session), message, 'patiently').then(taken, taken);
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
