import type { BackendSet, UserBackendSessions } from './backends/index.ts';
import type { HeldCalls, Listeners, SseConnections } from './edge/index.ts';
import { LIMITS } from './limits.ts';
import type { StateReaders } from './observe/index.ts';
import type { OpenedSessions } from './open-sessions.ts';
import type { ByteBudget } from './process/index.ts';

/** The parts that hold something for clients. */
export interface HoldingParts extends Pick<StateReaders, 'status'> {
  readonly backends: Pick<BackendSet, 'all'>;
  readonly sessions: Pick<OpenedSessions['sessions'], 'size'>;
  readonly heldCalls: Pick<HeldCalls, 'utilization'>;
  readonly listeners: Pick<Listeners, 'utilization'>;
  readonly connections: Pick<SseConnections, 'utilization'>;
  readonly bodies: Pick<ByteBudget, 'utilization'>;
  readonly answers: Pick<ByteBudget, 'utilization'>;
  readonly callers: Pick<UserBackendSessions, 'size'>;
  readonly userLists: { readonly count: () => number };
}

/** What these parts hold at the moment, for metrics; `LIMITS` by the names of docs/telemetry.md "Metrics". */
export const stateReadersOf = ({
  status,
  backends,
  sessions,
  heldCalls,
  listeners,
  connections,
  bodies,
  answers,
  callers,
  userLists,
}: HoldingParts): StateReaders => ({
  status,
  sessions: () => sessions.size,
  calls: () => backends.all(),
  userLists: userLists.count,
  userSessions: () => callers.size,
  utilization: () => ({
    sessions: sessions.size / LIMITS.sessions,
    held_calls: heldCalls.utilization.calls,
    held_call_bytes: heldCalls.utilization.bytes,
    listen_streams: listeners.utilization,
    sse_streams: connections.utilization,
    request_bytes: bodies.utilization,
    response_bytes: answers.utilization,
  }),
});
