import { atMost, sleep, type Clock } from './clock.ts';
import { VmcpError } from '../errors.ts';

/** Time limits of the steps of a stop, in ms. */
export interface StopTimes {
  /** Time during which the process is no longer ready but still serves, so that load balancers notice. */
  readonly servingMs: number;
  /** Time from the beginning of the stop after which running calls, and tasks, are cancelled. */
  readonly callsMs: number;
  /** Time to end the sessions at the backends. */
  readonly farewellMs: number;
}

/** docs/decisions.md "Graceful stop"; with `terminationGracePeriodSeconds` 45 the farewell still fits. */
export const STOP_TIMES: StopTimes = { servingMs: 5_000, callsMs: 40_000, farewellMs: 2_000 };

/** The actions of the steps of a stop. */
export interface StopDeps {
  readonly clock: Clock;
  readonly beUnready: () => void;
  readonly refuseNew: () => void;
  /** Resolves once no request is under way. */
  readonly idle: () => Promise<void>;
  /** Resolves once nothing goes on of calls that are answered, as tasks do. Absent: nothing ever does. */
  readonly tasksIdle?: () => Promise<void>;
  readonly cancelCalls: (reason: VmcpError) => void;
  /** Ends streams that calls may have needed until then. */
  readonly endStreams: () => Promise<void>;
  readonly closeListeners: () => Promise<void>;
  readonly endSessions: () => Promise<void>;
  readonly closeRest: () => Promise<void>;
}

/** The steps of a stop, in order. A second call returns the same promise. */
export const gracefulStop = (times: StopTimes, deps: StopDeps): (() => Promise<void>) => {
  let stopping: Promise<void> | undefined;
  return () => (stopping ??= stopInOrder(times, deps));
};

const stopInOrder = async ({ servingMs, callsMs, farewellMs }: StopTimes, deps: StopDeps): Promise<void> => {
  deps.beUnready();
  await sleep(deps.clock, servingMs);
  deps.refuseNew();
  // A call under way may become a task.
  await atMost(deps.clock, callsMs - servingMs, deps.idle().then(deps.tasksIdle));
  deps.cancelCalls(new VmcpError('backend_unavailable', 'the server is stopping'));
  await atMost(deps.clock, farewellMs, deps.idle().then(deps.endStreams));
  await deps.closeListeners();
  await atMost(deps.clock, farewellMs, deps.endSessions());
  await deps.closeRest();
};
