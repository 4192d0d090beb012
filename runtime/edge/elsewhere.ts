import type { LinkMemory } from '../backends/index.ts';
import type { ReplicaMessages, SessionRecords, SessionRef } from '../store/index.ts';
import type { Elsewhere } from './session.ts';

/** What a session with a backend is kept in. `announce` tells other replicas that the record has changed. */
export const memoryOf = (ref: SessionRef, records: SessionRecords, announce: () => Promise<void>): LinkMemory => ({
  recall: async (backend) => (await records.find(ref))?.backendSessions.get(backend),
  save: (backend, opened) => records.saveBackendSession(ref, backend, opened),
  forget: async (backend, gone) => void (await records.forgetBackendSession(ref, backend, gone)),
  subscribe: (subscription) => records.addSubscription(ref, subscription),
  unsubscribe: async (subscription) => {
    if (await records.removeSubscription(ref, subscription)) await announce();
  },
});

export interface ElsewhereParts {
  readonly ref: SessionRef;
  readonly records: SessionRecords;
  readonly messages: ReplicaMessages;
  readonly listen: Elsewhere['listen'];
  readonly gather: Elsewhere['gatherLinks'];
}

/** The other replicas, as one session sees them. */
export const elsewhereOf = ({ ref, records, messages, listen, gather }: ElsewhereParts): Elsewhere => ({
  newAskId: () => JSON.stringify(messages.newAskId()),
  tell: (message) => messages.sendToStream(ref, message),
  settle: async (ask, answer) => {
    const id: unknown = JSON.parse(ask);
    if (typeof id !== 'string' || messages.isOwnAskId(id)) return;
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
  gatherLinks: gather,
});
