import { asVmcpError, VmcpError } from '../errors.ts';
import type { BackendEvents, BackendLimits, BackendTuning } from './backend-settings.ts';
import { CircuitBreaker, type CircuitBreakerDeps } from './discovery/circuit-breaker.ts';
import { type CallerLists, notListed } from './discovery/user-lists.ts';
import { StreamEndedError } from './http/connection.ts';

export interface BulkheadDeps extends Pick<CircuitBreakerDeps, 'backend' | 'clock' | 'onHeld' | 'onReleased'> {
  readonly tuning: () => Pick<BackendTuning, 'circuitBreaker' | 'maxCalls'>;
  readonly events: BackendEvents;
  readonly limits: Pick<BackendLimits, 'requestBytesTogether' | 'uncountedBytes'>;
}

/**
 * Counts the calls to one backend that are under way, refuses those that its circuit or the bound does not admit, and
 * tells the circuit breaker how the others have ended.
 */
export class Bulkhead {
  readonly #deps: BulkheadDeps;
  readonly circuit: CircuitBreaker;
  #count = 0;
  /** Of the calls that are not small. */
  #bytes = 0;

  constructor(deps: BulkheadDeps) {
    this.#deps = deps;
    const { backend, tuning, events } = deps;
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
  begin(bytes = 0): number {
    const { backend, tuning, events, limits } = this.#deps;
    if (!this.circuit.isClosed) events.callRefused(backend, 'circuit_open');
    const period = this.circuit.beginCall();
    const counted = this.#counted(bytes);
    if (this.#count >= tuning().maxCalls || this.#bytes + counted > limits.requestBytesTogether) {
      events.callRefused(backend, 'busy');
      throw new VmcpError('busy', `backend "${backend}" has too many calls under way; try again`);
    }
    this.#count += 1;
    this.#bytes += counted;
    return period;
  }

  succeeded(period: number, bytes = 0): void {
    this.#end(bytes);
    this.circuit.callSucceeded(period);
  }

  failed(period: number, error: unknown, bytes = 0): void {
    this.#end(bytes);
    if (isOutage(asVmcpError(error))) this.circuit.callFailed(period);
  }

  /** The same for lists that are read for a user; never throws, as `read` does not. */
  async list(read: () => Promise<CallerLists>): Promise<CallerLists> {
    let period: number;
    try {
      period = this.begin();
    } catch (error) {
      return notListed(this.#deps.backend, asVmcpError(error));
    }
    const listed = await read();
    if (listed.error) this.failed(period, listed.error);
    else this.succeeded(period);
    return listed;
  }

  #end(bytes: number): void {
    this.#count -= 1;
    this.#bytes -= this.#counted(bytes);
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
