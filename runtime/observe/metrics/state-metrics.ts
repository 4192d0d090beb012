import type { VmcpError } from '../../errors.ts';
import type { CircuitState, StatusReport } from '../../status/index.ts';
import type { Meter } from './meter.ts';

/** The state of the process, at the moment it is read. */
export interface StateReaders {
  readonly status: () => StatusReport;
  readonly sessions: () => number;
  /** Users whose own lists of backends are kept. */
  readonly userLists: () => number;
  /** Users whose sessions at backends are kept. */
  readonly userSessions: () => number;
  /** The used part of each limit at which requests are refused, 0 to 1. */
  readonly utilization: () => Readonly<Record<string, number>>;
  /** Calls under way, by backend. */
  readonly calls: () => readonly { readonly name: string; readonly callsUnderWay: number }[];
}

/** Shows what `/status` tells as gauges, and what is held for clients. */
export const stateMetrics = (meter: Meter, readers: StateReaders): void => {
  const { status, sessions, calls } = readers;
  heldMetrics(meter, readers);
  meter.gauge({ name: 'vmcp.build.info', help: 'Version of the runtime; always 1.', labels: ['version'] }, () => [
    [{ version: status().version }, 1],
  ]);
  meter.gauge({ name: 'vmcp.sessions', help: 'Sessions of clients that this process knows.' }, sessions);
  meter.gauge({ name: 'vmcp.tools', help: 'Tools that an anonymous caller is offered.' }, () => status().toolCount);
  meter.gauge(
    { name: 'vmcp.names.collisions', help: 'Tools, prompts and resources that lost their name to another backend.' },
    () => status().collisionCount ?? 0,
  );
  backendMetrics(meter, { status, calls });
  meter.gauge(
    { name: 'vmcp.config.info', help: 'Always 1, with the hash of the configuration.', labels: ['vmcp.config.hash'] },
    () => [[{ 'vmcp.config.hash': status().config.hash.slice(0, HASH_DIGITS) }, 1]],
  );
  meter.gauge({ name: 'vmcp.config.refused', help: '1 while a newer configuration is refused.' }, () =>
    status().config.refused ? 1 : 0,
  );
  meter.gauge(
    {
      name: 'vmcp.session_store.status',
      help: 'Always 1, with the present state of the session store; absent where there is none.',
      labels: ['vmcp.session_store.state'],
    },
    () => {
      const { sessionStore } = status();
      return sessionStore ? [[{ 'vmcp.session_store.state': sessionStore.state }, 1]] : [];
    },
  );
};

const backendMetrics = (meter: Meter, { status, calls }: Pick<StateReaders, 'status' | 'calls'>): void => {
  meter.gauge(
    {
      name: 'vmcp.backend.status',
      help: 'Always 1, with the present status of each backend.',
      labels: ['vmcp.backend.name', 'vmcp.backend.status'],
    },
    () =>
      status().backends.map(({ name, status: is }) => [{ 'vmcp.backend.name': name, 'vmcp.backend.status': is }, 1]),
  );
  meter.gauge(
    {
      name: 'vmcp.backend.failed_checks',
      help: 'Failed checks of a backend since the last one that succeeded.',
      labels: ['vmcp.backend.name'],
    },
    () => status().backends.map((each) => [{ 'vmcp.backend.name': each.name }, each.consecutiveFailures]),
  );
  meter.gauge(
    {
      name: 'vmcp.backend.circuit.state',
      help: 'Always 1, with the present state of the circuit of each backend; absent without a circuit breaker.',
      labels: ['vmcp.backend.name', 'vmcp.circuit.state'],
    },
    () =>
      status().backends.flatMap(({ name, circuitBreakerState: is }) =>
        is === undefined ? [] : [[{ 'vmcp.backend.name': name, 'vmcp.circuit.state': is }, 1]],
      ),
  );
  meter.gauge(
    { name: 'vmcp.backend.calls.active', help: 'Calls to a backend under way.', labels: ['vmcp.backend.name'] },
    () => calls().map(({ name, callsUnderWay }) => [{ 'vmcp.backend.name': name }, callsUnderWay]),
  );
};

const heldMetrics = (
  meter: Meter,
  { userLists, userSessions, utilization }: Pick<StateReaders, 'userLists' | 'userSessions' | 'utilization'>,
): void => {
  meter.gauge({ name: 'vmcp.user_lists', help: 'Users whose own lists of backends are kept.' }, userLists);
  meter.gauge({ name: 'vmcp.user_sessions', help: 'Users whose sessions at backends are kept.' }, userSessions);
  meter.gauge(
    {
      name: 'vmcp.limit.utilization',
      help: 'The used part of a limit beyond which requests are refused, 0 to 1.',
      labels: ['vmcp.limit'],
    },
    () => Object.entries(utilization()).map(([limit, used]) => [{ 'vmcp.limit': limit }, used]),
  );
};

/** Enough to tell two configurations apart. */
const HASH_DIGITS = 12;

export interface EventMetrics {
  /** A request was refused, or failed. */
  readonly refused: (error: VmcpError) => void;
  /** A client was cut off. */
  readonly cut: () => void;
  readonly reloaded: (isApplied: boolean) => void;
  readonly circuitChanged: (backend: string, state: CircuitState) => void;
  /** A call was refused before anything was sent to its backend. */
  readonly callRefused: (backend: string, reason: string) => void;
}

/** Counts what happens beside the pipeline. */
export const eventMetrics = (meter: Meter): EventMetrics => {
  const refusals = meter.counter({
    name: 'vmcp.requests.refused',
    help: 'Requests that were refused or failed, by the code in the log.',
    labels: ['error.type'],
  });
  const cuts = meter.counter({ name: 'vmcp.clients.cut', help: 'Clients that were cut off: they read too slowly.' });
  const reloads = meter.counter({
    name: 'vmcp.config.reloads',
    help: 'Newer configurations, by whether they were applied.',
    labels: ['vmcp.config.outcome'],
  });
  const circuits = meter.counter({
    name: 'vmcp.backend.circuit.changes',
    help: 'Changes of the circuit of a backend, by the state that it came to.',
    labels: ['vmcp.backend.name', 'vmcp.circuit.state'],
  });
  const refusedCalls = meter.counter({
    name: 'vmcp.backend.calls.refused',
    help: 'Calls that were refused before anything was sent to their backend.',
    labels: ['vmcp.backend.name', 'error.type'],
  });
  return {
    refused: ({ code }) => refusals({ 'error.type': code }),
    cut: () => cuts({}),
    circuitChanged: (backend, state) => circuits({ 'vmcp.backend.name': backend, 'vmcp.circuit.state': state }),
    callRefused: (backend, reason) => refusedCalls({ 'vmcp.backend.name': backend, 'error.type': reason }),
    reloaded: (isApplied) => reloads({ 'vmcp.config.outcome': isApplied ? 'applied' : 'refused' }),
  };
};
