import type { Clock, Timer } from '../../process/index.ts';
import { VmcpError } from '../../errors.ts';
import type { CircuitState } from '../../status/index.ts';
import { type FailedPart, FailuresInRow } from './failures-in-row.ts';

/** `failureHandling.circuitBreaker` of docs/configuration.md "operational" */
export interface CircuitBreakerSettings {
  readonly isEnabled: boolean;
  /** Failures in a row that open the circuit. */
  readonly failureThreshold: number;
  /** From the opening to the trial. */
  readonly timeoutMs: number;
}

export interface CircuitBreakerDeps {
  readonly backend: string;
  readonly clock: Clock;
  readonly settings: CircuitBreakerSettings;
  /** Called after every change of the state. */
  readonly onChange: (state: CircuitState) => void;
  /** Called when the circuit has opened: nothing may be sent until `onReleased`. */
  readonly onHeld: () => void;
  /** Called when a trial is due, and when the breaker was turned off while the circuit was not closed. */
  readonly onReleased: () => void;
  /** Called when the failures of one caller alone would open the circuit: a check should say whether they may. */
  readonly onDoubted: () => void;
}

/** A call that is under way. */
export interface BegunCall {
  /** Undefined where it is not known who calls. */
  readonly caller: string | undefined;
  readonly period: number;
  /** Calls that had succeeded before it began. */
  readonly successesBefore: number;
}

/** What `/status` tells of the circuit. */
export interface Circuit {
  readonly state: CircuitState;
  /** Milliseconds since the epoch; absent when the state has never changed. */
  readonly changedAt?: number;
}

/** What a check says of its backend; `undecided`: it was never sent. */
export type CheckOutcome = 'succeeded' | 'failed' | 'undecided';

/**
 * The circuit breaker of one backend: opens after failures in a row, lets nothing through for a time, then one check as
 * a trial, which closes or opens it again. A call that succeeds ends the row, and calls that were under way then do not
 * begin a new one. A check that succeeds takes only failed checks off it, since a backend may answer `ping` and no call
 * (docs/failures.md "The circuit breaker").
 */
export class CircuitBreaker {
  readonly #deps: CircuitBreakerDeps;
  #settings: CircuitBreakerSettings;
  #state: CircuitState = 'closed';
  #changedAt: number | undefined;
  readonly #failures = new FailuresInRow();
  /** Calls that have succeeded. */
  #successes = 0;
  /** Number of the present state: what was sent in an earlier one says nothing about this one. */
  #period = 0;
  #isTrialDue = false;
  #timer: Timer | undefined;

  constructor(deps: CircuitBreakerDeps) {
    this.#deps = deps;
    this.#settings = deps.settings;
  }

  /** Undefined where the breaker is turned off. */
  get circuit(): Circuit | undefined {
    if (!this.#settings.isEnabled) return undefined;
    return { state: this.#state, ...(this.#changedAt !== undefined && { changedAt: this.#changedAt }) };
  }

  get isClosed(): boolean {
    return this.#state === 'closed';
  }

  /** Whether not even a check may be sent. */
  get isHeld(): boolean {
    return this.#state === 'open' && !this.#isTrialDue;
  }

  get isTrialDue(): boolean {
    return this.#isTrialDue;
  }

  /** Begins a call. Returns what `callSucceeded` or `callFailed` wants. Throws `circuit_open`. */
  beginCall(caller?: string): BegunCall {
    if (this.#state !== 'closed') throw this.refusal();
    return { caller, period: this.#period, successesBefore: this.#successes };
  }

  callSucceeded({ period }: BegunCall): void {
    if (period !== this.#period) return;
    this.#successes += 1;
    this.#failures.clear();
  }

  /** Where another call has succeeded meanwhile, the backend works, and it was this call that failed. */
  callFailed({ caller, period, successesBefore }: BegunCall, part: FailedPart = 'backend'): void {
    if (period !== this.#period || successesBefore !== this.#successes || !this.#settings.isEnabled) return;
    this.#failures.addCall(caller, part);
    this.#openIfDue();
  }

  /** Begins a check; the first one that is due in an open circuit is its trial. Returns what `checkEnded` wants. */
  beginCheck(): number {
    if (this.#isTrialDue) this.#change('half-open');
    return this.#period;
  }

  checkEnded(period: number, outcome: CheckOutcome): void {
    if (period !== this.#period || !this.#settings.isEnabled) return;
    if (this.#state === 'half-open') return outcome === 'succeeded' ? this.#change('closed') : this.#open();
    if (outcome === 'succeeded') this.#failures.clearChecks();
    if (outcome !== 'failed') return;
    this.#failures.addCheck();
    this.#openIfDue();
  }

  refusal(): VmcpError {
    return new VmcpError('circuit_open', `backend "${this.#deps.backend}" keeps failing and is not called for a while`);
  }

  /** Settings that have changed count at once; the state stays, unless the breaker is turned off. */
  configure(settings: CircuitBreakerSettings): void {
    const before = this.#settings;
    this.#settings = settings;
    if (!settings.isEnabled) this.#turnOff();
    else if (this.isHeld && settings.timeoutMs !== before.timeoutMs) this.#waitForTrial();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #turnOff(): void {
    const wasClosed = this.isClosed;
    if (!wasClosed) this.#change('closed');
    this.#changedAt = undefined;
    this.#failures.clear();
    if (!wasClosed) this.#deps.onReleased();
  }

  #openIfDue(): void {
    const isFull = this.#failures.fills(this.#settings.failureThreshold);
    if (isFull === 'yes') this.#open();
    if (isFull === 'doubted') this.#deps.onDoubted();
  }

  #open(): void {
    this.#change('open');
    this.#waitForTrial();
    this.#deps.onHeld();
  }

  /** The wait counts from the opening. */
  #waitForTrial(): void {
    const { clock, onReleased } = this.#deps;
    const { timeoutMs } = this.#settings;
    const passedMs = Math.max(0, clock.now() - (this.#changedAt ?? 0));
    this.#timer?.cancel();
    this.#timer = clock.after(Math.max(0, timeoutMs - passedMs), () => {
      this.#isTrialDue = true;
      onReleased();
    });
  }

  #change(state: CircuitState): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#isTrialDue = false;
    this.#state = state;
    this.#changedAt = this.#deps.clock.now();
    this.#period += 1;
    this.#failures.clear();
    this.#deps.onChange(state);
  }
}
