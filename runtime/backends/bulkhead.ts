import { asVmcpError, VmcpError } from '../errors.ts';
import type { BackendEvents, BackendLimits, BackendTuning } from './backend-settings.ts';
import { type BegunCall, CircuitBreaker, type CircuitBreakerDeps } from './discovery/circuit-breaker.ts';
import { type Caller, callerKey } from '../call/index.ts';
import { type CallerLists, notListed } from './discovery/user-lists.ts';
import { StreamEndedError } from './http/connection.ts';
import type { CancelSignal } from '../process/index.ts';
import { UserCalls } from './user-calls.ts';

export interface BulkheadDeps extends Pick<
  CircuitBreakerDeps,
  'backend' | 'clock' | 'onHeld' | 'onReleased' | 'onDoubted'
> {
  readonly tuning: () => Pick<BackendTuning, 'circuitBreaker' | 'maxCalls'>;
  readonly events: BackendEvents;
  readonly limits: Pick<BackendLimits, 'connections' | 'requestBytesTogether' | 'uncountedBytes'>;
}

/**
 * Counts the calls to one backend that are under way, refuses those that its circuit or the bounds do not admit, and
 * tells the circuit breaker how the others have ended.
 */
export class Bulkhead {
  readonly #deps: BulkheadDeps;
  readonly circuit: CircuitBreaker;
  #count = 0;
  readonly #users: UserCalls;
  /** Of the calls that are not small. */
  #bytes = 0;

  constructor(deps: BulkheadDeps) {
    this.#deps = deps;
    const { backend, tuning, events, limits } = deps;
    this.#users = new UserCalls(limits.connections);
    this.circuit = new CircuitBreaker({
      ...deps,
      settings: tuning().circuitBreaker,
      onChange: (state) => events.circuitChanged(backend, state),
    });
  }

  get count(): number {
    return this.#count;
  }

  /**
   * Counts a call and the bytes of its request, until `succeeded` or `failed` is called with the returned value and the
   * same bytes. Throws `circuit_open` and `busy`; nothing is counted then.
   */
  begin(caller: Caller, bytes = 0): BegunCall {
    const { backend, tuning, events, limits } = this.#deps;
    if (!this.circuit.isClosed) events.callRefused(backend, 'circuit_open');
    const begun = this.circuit.beginCall(caller.kind === 'user' ? callerKey(caller) : undefined);
    const counted = this.#counted(bytes);
    const { maxCalls: places } = tuning();
    const isFull = this.#count >= places || this.#bytes + counted > limits.requestBytesTogether;
    const { caller: user } = begun;
    if (isFull || (user !== undefined && this.#users.leavesNoRoom(user, { count: this.#count, places }))) {
      events.callRefused(backend, 'busy');
      const whose = isFull ? '' : ' of one user';
      throw new VmcpError('busy', `backend "${backend}" has too many calls${whose} under way; try again`);
    }
    this.#count += 1;
    this.#bytes += counted;
    if (user !== undefined) this.#users.begin(user);
    return begun;
  }

  /** Resolves once the call may be sent; undefined: at once (`UserCalls.turn`). */
  turn({ caller }: BegunCall, signal: CancelSignal): Promise<void> | undefined {
    return caller === undefined ? undefined : this.#users.turn(caller, signal);
  }

  succeeded(begun: BegunCall, bytes = 0): void {
    this.#end(begun, bytes);
    this.circuit.callSucceeded(begun);
  }

  failed(begun: BegunCall, thrown: unknown, bytes = 0): void {
    this.#end(begun, bytes);
    const error = asVmcpError(thrown);
    if (isOutage(error))
      this.circuit.callFailed(begun, error.code === 'credential_unavailable' ? 'credential' : 'backend');
  }

  /** The same for lists that are read for a user; never throws, as `read` does not. */
  async list(caller: Caller, read: () => Promise<CallerLists>): Promise<CallerLists> {
    let begun: BegunCall;
    try {
      begun = this.begin(caller);
    } catch (error) {
      return notListed(this.#deps.backend, asVmcpError(error));
    }
    const listed = await read();
    if (listed.error) this.failed(begun, listed.error);
    else this.succeeded(begun);
    return listed;
  }

  #end({ caller }: BegunCall, bytes: number): void {
    this.#count -= 1;
    this.#bytes -= this.#counted(bytes);
    if (caller !== undefined) this.#users.end(caller);
  }

  /** Small calls pass beside any number of large ones. */
  #counted(bytes: number): number {
    return bytes > this.#deps.limits.uncountedBytes ? bytes : 0;
  }
}

/**
 * Whether an error shows that the backend, or who issues the credentials for it, is away, silent or broken. What a call
 * may have brought about itself, cancellations and refusals of this process show nothing (docs/failures.md "What
 * counts").
 */
const isOutage = ({ code, cause, isOutage: isToldSo }: VmcpError): boolean => {
  if (isToldSo || code === 'backend_unreachable' || code === 'backend_timeout') return true;
  return code === 'backend_unavailable' && cause instanceof StreamEndedError;
};
