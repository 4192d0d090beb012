import type { VmcpError } from '../../errors.ts';
import type { StatusReport } from '../../status/index.ts';
import type { Meter } from './meter.ts';

/** The state of the process, at the moment it is read. */
export interface StateReaders {
  readonly status: () => StatusReport;
  readonly sessions: () => number;
}

/** Shows what `/status` tells as gauges. */
export const stateMetrics = (meter: Meter, { status, sessions }: StateReaders): void => {
  meter.gauge({ name: 'vmcp.build.info', help: 'Version of the runtime; always 1.', labels: ['version'] }, () => [
    [{ version: status().version }, 1],
  ]);
  meter.gauge({ name: 'vmcp.sessions', help: 'Sessions of clients that this process knows.' }, sessions);
  meter.gauge({ name: 'vmcp.tools', help: 'Tools that an anonymous caller is offered.' }, () => status().toolCount);
  meter.gauge(
    { name: 'vmcp.names.collisions', help: 'Tools, prompts and resources that lost their name to another backend.' },
    () => status().collisionCount ?? 0,
  );
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

/** Enough to tell two configurations apart. */
const HASH_DIGITS = 12;

export interface EventMetrics {
  /** A request was refused, or failed. */
  readonly refused: (error: VmcpError) => void;
  /** A client was cut off. */
  readonly cut: () => void;
  readonly reloaded: (isApplied: boolean) => void;
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
  return {
    refused: ({ code }) => refusals({ 'error.type': code }),
    cut: () => cuts({}),
    reloaded: (isApplied) => reloads({ 'vmcp.config.outcome': isApplied ? 'applied' : 'refused' }),
  };
};
