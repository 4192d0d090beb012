import { accessEnded, type Caller, type OnDecided, type OpenFor } from './call/index.ts';
import type { Clients } from './clients.ts';
import type { Clock } from './process/index.ts';
import type { Ended } from './revocations/index.ts';

export interface EndAccessDeps {
  readonly clients: Pick<Clients, 'sessions' | 'connections' | 'listeners' | 'callers'>;
  readonly clock: Clock;
  readonly onDecided: OnDecided;
}

/** By then, every request that was authenticated before has opened what it opens: a session in the store is read. */
const STRAGGLERS_MS = 500;

/** Ends what is open here for the callers that are meant: sessions, streams, and calls under way. */
export const endAccess =
  (deps: EndAccessDeps) =>
  (isMeant: (caller: Caller) => boolean): Ended => {
    deps.clock.after(STRAGGLERS_MS, () => void endNow(deps, isMeant));
    return endNow(deps, isMeant);
  };

const endNow = ({ clients, onDecided }: EndAccessDeps, isMeant: (caller: Caller) => boolean): Ended => {
  const refusal = accessEnded();
  const ended = { sessions: 0, streams: 0, calls: clients.callers.cancelCalls(isMeant, refusal) };
  for (const open of openFor(clients).filter(({ caller }) => isMeant(caller))) {
    const { caller, method, sessionId, underWay } = open;
    if (!open.end('revoked')) continue;
    if (method === 'DELETE') ended.sessions += 1;
    else if (method) ended.streams += 1;
    ended.calls += underWay?.calls ?? 0;
    ended.streams += underWay?.streams ?? 0;
    if (method) void onDecided({ caller, method, sessionId, refusal });
  }
  return ended;
};

const openFor = ({ listeners, connections, sessions, callers }: EndAccessDeps['clients']): readonly OpenFor[] =>
  [listeners, connections, sessions, callers].flatMap((each) => each.openFor());
