import type { BackendSessionMemory } from '../backends/index.ts';
import type { ClientAnswer } from '../call/index.ts';
import type { ReplicaMessages, SessionRecords, SessionRef } from '../store/index.ts';

/** The other replicas that serve the same session. Promises may reject with `store_unavailable`. */
export interface ReplicaPeers {
  /**
   * JSON text of a new id for a request to the client; a replica that receives the client's response passes it on to
   * this one.
   */
  readonly newRequestId: () => string;
  /**
   * Sends a message to the stream that the client has open at another replica, if there is one. False: the message
   * cannot be sent now. Never throws.
   */
  readonly sendToStream: (message: Buffer) => boolean;
  /**
   * Passes on the client's response to a request that another replica may have made; `ask` is the JSON text of the
   * request's id.
   */
  readonly settle: (ask: string, answer: ClientAnswer) => Promise<void>;
  /**
   * Passes on that the client has cancelled a request that another replica may be serving; `requestId` is JSON text.
   */
  readonly cancel: (requestId: Buffer) => Promise<void>;
  /**
   * Resolves once this replica receives the other replicas' messages for the client's streams, or after a short wait.
   */
  readonly listen: () => Promise<void>;
  readonly setLogLevel: (level: string) => Promise<void>;
  /** Adopts the backend sessions that other replicas have opened for this session. */
  readonly gatherBackendSessions: () => Promise<void>;
}

/**
 * Where the backend sessions of a client session are kept for other replicas. `announce` notifies other replicas that
 * the record has changed.
 */
export const memoryOf = (
  ref: SessionRef,
  records: SessionRecords,
  announce: () => Promise<void>,
): BackendSessionMemory => ({
  recall: async (backend) => (await records.find(ref))?.backendSessions.get(backend),
  save: (backend, opened) => records.saveBackendSession(ref, backend, opened),
  forget: async (backend, gone) => void (await records.forgetBackendSession(ref, backend, gone)),
  subscribe: (subscription) => records.addSubscription(ref, subscription),
  unsubscribe: async (subscription) => {
    if (await records.removeSubscription(ref, subscription)) await announce();
  },
});

export interface ReplicaPeersParts {
  readonly ref: SessionRef;
  readonly records: SessionRecords;
  readonly messages: ReplicaMessages;
  readonly listen: ReplicaPeers['listen'];
  readonly gather: ReplicaPeers['gatherBackendSessions'];
}

/** The other replicas that serve the session `ref`. */
export const replicaPeersOf = ({ ref, records, messages, listen, gather }: ReplicaPeersParts): ReplicaPeers => ({
  newRequestId: () => JSON.stringify(messages.newRequestId()),
  sendToStream: (message) => messages.sendToStream(ref, message),
  settle: async (ask, answer) => {
    const id: unknown = JSON.parse(ask);
    if (typeof id !== 'string' || messages.isOwnRequestId(id)) return;
    const payload = answer.kind === 'result' ? answer.result : answer.error;
    await messages.sendAnswer(ref, { ask: id, outcome: answer.kind, payload });
  },
  cancel: (requestId) => messages.announceCancel(ref, requestId),
  listen,
  setLogLevel: async (level) => {
    if (!(await records.setLogLevel(ref, level))) return;
    await gather();
    await messages.announceChange(ref);
  },
  gatherBackendSessions: gather,
});
