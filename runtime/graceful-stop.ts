import { atMost, sleep, type Clock } from './clock.ts';
import { VmcpError } from './errors.ts';

export interface StopTimes {
  /** Not ready any more, but still serving: load balancers need to notice. */
  readonly servingMs: number;
  /** From the beginning of the stop; calls still running then are answered for. */
  readonly callsMs: number;
  /** How long the end of sessions at the backends may take. */
  readonly farewellMs: number;
}

/** decisions, "Graceful stop"; with `terminationGracePeriodSeconds` 45 the farewell still fits. */
export const STOP_TIMES: StopTimes = { servingMs: 5_000, callsMs: 40_000, farewellMs: 2_000 };

export interface StopDeps {
  readonly clock: Clock;
  readonly beUnready: () => void;
  readonly refuseNew: () => void;
  readonly idle: () => Promise<void>;
  readonly cancelCalls: (reason: VmcpError) => void;
  /** What calls needed until now. */
  readonly endStreams: () => Promise<void>;
  readonly closeListeners: () => Promise<void>;
  readonly endSessions: () => Promise<void>;
  readonly closeRest: () => Promise<void>;
}

/** The steps of a stop, in order. Asked twice, it stops once. */
export const gracefulStop = (times: StopTimes, deps: StopDeps): (() => Promise<void>) => {
  let stopping: Promise<void> | undefined;
  return () => (stopping ??= stopInOrder(times, deps));
};

const stopInOrder = async ({ servingMs, callsMs, farewellMs }: StopTimes, deps: StopDeps): Promise<void> => {
  deps.beUnready();
  await sleep(deps.clock, servingMs);
  deps.refuseNew();
  await atMost(deps.clock, callsMs - servingMs, deps.idle());
  deps.cancelCalls(new VmcpError('backend_unavailable', 'the server is stopping'));
  await atMost(deps.clock, farewellMs, deps.idle().then(deps.endStreams));
  await deps.closeListeners();
  await atMost(deps.clock, farewellMs, deps.endSessions());
  await deps.closeRest();
};
