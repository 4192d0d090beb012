import type { Clock, Timer } from '../../process/index.ts';
import { VmcpError } from '../../errors.ts';
import type { CircuitState } from '../../status/index.ts';

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
 * a trial, which closes or opens it again. A call that succeeds ends the row. A check that succeeds takes only failed
 * checks off it, since a backend may answer `ping` and no call (docs/failures.md "The circuit breaker").
 */
export class CircuitBreaker {
  readonly #deps: CircuitBreakerDeps;
  #settings: CircuitBreakerSettings;
  #state: CircuitState = 'closed';
  #changedAt: number | undefined;
  #failedCalls = 0;
  #failedChecks = 0;
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
  beginCall(): number {
    if (this.#state !== 'closed') throw this.refusal();
    return this.#period;
  }

  callSucceeded(period: number): void {
    if (period !== this.#period) return;
    this.#failedCalls = 0;
    this.#failedChecks = 0;
  }

  callFailed(period: number): void {
    if (period !== this.#period || !this.#settings.isEnabled) return;
    this.#failedCalls += 1;
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
    if (outcome === 'succeeded') this.#failedChecks = 0;
    if (outcome !== 'failed') return;
    this.#failedChecks += 1;
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
    this.#failedCalls = 0;
    this.#failedChecks = 0;
    if (!wasClosed) this.#deps.onReleased();
  }

  #openIfDue(): void {
    if (this.#failedCalls + this.#failedChecks >= this.#settings.failureThreshold) this.#open();
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
    this.#failedCalls = 0;
    this.#failedChecks = 0;
    this.#deps.onChange(state);
  }
}
