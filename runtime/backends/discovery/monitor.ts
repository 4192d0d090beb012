import { backoffMs, jittered, type Clock, type Timer } from '../../process/index.ts';
import { asVmcpError, VmcpError } from '../../errors.ts';
import type { Lists } from '../../mcp/index.ts';
import type { ListDiscovery } from './list-discovery.ts';
import type { ListSource } from '../messages/backend-call.ts';
import type { CircuitBreaker, CheckOutcome } from './circuit-breaker.ts';
import { type Finding, type Health, healthAfter, type HealthSettings, UNKNOWN } from './health.ts';

/** Status and last good lists of one backend. */
export interface BackendState extends Health {
  /** Absent until the lists were read once. */
  readonly lists?: Lists;
}

export interface MonitorDeps {
  readonly backend: string;
  /** Sends the cheapest request that proves the backend alive. Throws VmcpError when that fails. */
  readonly check: (signal: AbortSignal, settings: HealthSettings) => Promise<ListSource>;
  readonly listDiscovery: Pick<ListDiscovery, 'isDue' | 'leftOut' | 'lists' | 'read'>;
  readonly settings: () => HealthSettings;
  /** Says when nothing may be sent, and learns what checks have found. */
  readonly circuit: Pick<CircuitBreaker, 'isHeld' | 'isTrialDue' | 'beginCheck' | 'checkEnded'>;
  readonly clock: Clock;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  /** Called after status or lists have changed. */
  readonly onChange: () => void;
}

/** A backend that cannot serve calls is checked again after this time, doubled each time up to the interval. */
const FIRST_RETRY_MS = 1_000;
/** Changes often come in bursts. */
const DEBOUNCE_MS = 100;
/** Unknown names make the gateway read the lists again, and any client can ask for such names. */
const REFRESH_MS = 10_000;
/** Largest part of an interval that is subtracted at random, so that checks of many backends do not coincide. */
const JITTER = 0.1;

/** Monitors one backend in rounds: checks its health and reads its lists. */
export class Monitor {
  readonly #deps: MonitorDeps;
  readonly #firstRound = Promise.withResolvers<void>();
  readonly #known = Promise.withResolvers<void>();
  #health: Health = UNKNOWN;
  #timer: Timer | undefined;
  #round: AbortController | undefined;
  /** A list has changed since the round began. */
  #isStale = false;
  /** The next round has been brought forward. */
  #isBroughtForward = false;
  #isStopped = false;
  #refreshedAt = -Infinity;
  /** Callers of `refreshLists` and `checkUnlisted` that wait for the end of a round. */
  #waiting: (() => void)[] = [];
  /** Rounds since the backend could last serve calls. */
  #retries = 0;

  constructor(deps: MonitorDeps) {
    this.#deps = deps;
  }

  get state(): BackendState {
    const { lists, leftOut } = this.#deps.listDiscovery;
    const isShort = leftOut !== undefined && this.#health.status === 'ready';
    return { ...this.#health, ...(isShort && { message: leftOut }), ...(lists && { lists }) };
  }

  /** Resolves once the first round has ended, however it went. */
  get firstRound(): Promise<void> {
    return this.#firstRound.promise;
  }

  /** Resolves once the status is no longer `unknown`: a check has succeeded, or as many have failed as it takes. */
  get statusKnown(): Promise<void> {
    return this.#known.promise;
  }

  start(): void {
    void this.#runRound();
  }

  stop(): void {
    this.#isStopped = true;
    this.#resolveWaiting();
    this.#timer?.cancel();
    this.#round?.abort(new VmcpError('cancelled', 'no longer served'));
    this.#firstRound.resolve();
    this.#known.resolve();
  }

  /** The circuit has opened: no round begins before `release`. */
  hold(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#isBroughtForward = false;
    this.#resolveWaiting();
  }

  /** A round begins, or follows the one that is under way. */
  release(): void {
    void this.#runRound();
  }

  /** Reschedules the next round after the settings have changed. */
  reschedule(): void {
    if (this.#timer && !this.#isBroughtForward) this.#scheduleRound(this.#leftMs(this.#delayMs()));
  }

  /**
   * The backend has notified of a changed list: the lists are read again at once, or in a flood of notifications a
   * second after the last time.
   */
  noteChange(): void {
    this.#isStale = true;
    this.#bringForward(DEBOUNCE_MS);
  }

  /**
   * Resolves once the lists were read again, or could not be: a backend may change them without a notification. Reads
   * at most every 10 s for all callers; in between, and where there are no lists, it resolves at once.
   */
  refreshLists(): Promise<void> {
    const now = this.#deps.clock.now();
    const isDue = now - this.#refreshedAt >= REFRESH_MS && this.#deps.listDiscovery.lists !== undefined;
    if (this.#isStopped || this.#isHeld || (!isDue && this.#waiting.length === 0)) return Promise.resolve();
    if (isDue) {
      this.#refreshedAt = now;
      this.#isStale = true;
      void this.#runRound();
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /**
   * Resolves once a backend that was never listed was checked again, which happens once a second at most for all
   * callers. Resolves at once where there are lists, where the backend wants a login, and while the circuit is open.
   */
  checkUnlisted(): Promise<void> {
    const isListed = this.#deps.listDiscovery.lists !== undefined;
    if (isListed || this.#health.status === 'unauthenticated' || this.#isStopped || this.#isHeld)
      return Promise.resolve();
    this.#bringForward(0);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #resolveWaiting(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** A call was answered. Where that contradicts the status, a round begins. */
  noteAnswer(): void {
    if (this.#health.status === 'unavailable' || this.#health.status === 'unknown') this.#bringForward(0);
  }

  /** A call failed in a way that suggests another revision or server: a round begins. */
  recheck(): void {
    this.#bringForward(0);
  }

  /** Brings the next round forward, once for a burst of requests. */
  #bringForward(ms: number): void {
    if (this.#isBroughtForward || this.#round || this.#isStopped || this.#isHeld) return;
    this.#isBroughtForward = true;
    this.#scheduleRound(Math.max(ms, this.#leftMs(FIRST_RETRY_MS)));
  }

  get #isHeld(): boolean {
    return this.#deps.circuit.isHeld;
  }

  #scheduleRound(ms: number): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#isHeld) return;
    this.#timer = this.#deps.clock.after(this.#deps.circuit.isTrialDue ? 0 : ms, () => void this.#runRound());
  }

  async #runRound(): Promise<void> {
    if (this.#round || this.#isStopped || this.#isHeld) return;
    this.#isBroughtForward = false;
    this.#timer?.cancel();
    this.#timer = undefined;
    const round = new AbortController();
    this.#round = round;
    const { clock, settings, onChange } = this.#deps;
    const before = this.state;
    const beganAt = clock.now();
    const finding = await this.#checkAndList(round);
    this.#round = undefined;
    if (this.#isStopped) return;
    this.#health = healthAfter(this.#health, finding, { ...settings(), now: clock.now() });
    this.#retries = isServing(this.#health) ? 0 : this.#retries + 1;
    const delayMs = this.#delayMs();
    // The interval counts from the start of a round to the next, but after a slow round there is a pause of a tenth of
    // it.
    this.#scheduleRound(Math.max(delayMs / 10, beganAt + delayMs - clock.now()));
    // A list has changed again while it was being read.
    if (this.#isStale && finding.kind === 'well') this.noteChange();
    const { status, message, lists } = this.state;
    if (status !== before.status || message !== before.message || lists !== before.lists) onChange();
    if (!this.#isStale || finding.kind !== 'well' || this.#isHeld) this.#resolveWaiting();
    this.#firstRound.resolve();
    if (status !== 'unknown') this.#known.resolve();
  }

  async #checkAndList(round: AbortController): Promise<Finding> {
    const { clock, listDiscovery } = this.#deps;
    try {
      const link = await this.#check(round);
      const now = clock.now();
      if (!this.#isStale && this.#health.status === 'ready' && !listDiscovery.isDue(link, now)) return { kind: 'well' };
      this.#isStale = false;
      return await this.#list(link, { now, signal: round.signal });
    } catch (error) {
      return { kind: 'failed', error: asVmcpError(error) };
    }
  }

  async #check(round: AbortController): Promise<ListSource> {
    const { backend, clock, check, circuit, settings } = this.#deps;
    const health = settings();
    const period = circuit.beginCheck();
    const timer = clock.after(health.timeoutMs, () =>
      round.abort(new VmcpError('backend_timeout', `backend "${backend}" did not answer in time`)),
    );
    try {
      const link = await check(round.signal, health);
      circuit.checkEnded(period, 'succeeded');
      return link;
    } catch (error) {
      circuit.checkEnded(period, outcomeOf(asVmcpError(error)));
      throw error;
    } finally {
      timer.cancel();
    }
  }

  async #list(link: ListSource, how: { readonly now: number; readonly signal: AbortSignal }): Promise<Finding> {
    const { listDiscovery } = this.#deps;
    try {
      await listDiscovery.read(link, how);
      return { kind: 'well' };
    } catch (error) {
      // Without a list there is nothing to serve.
      return { kind: listDiscovery.lists ? 'stale' : 'failed', error: asVmcpError(error) };
    }
  }

  #delayMs(): number {
    const { random, settings } = this.#deps;
    const { intervalMs } = settings();
    const retry = { baseMs: Math.min(FIRST_RETRY_MS, intervalMs), maxMs: intervalMs, jitter: JITTER };
    return this.#retries === 0 ? jittered(intervalMs, random, JITTER) : backoffMs(this.#retries, retry, random);
  }

  /** What is left of a delay that began with the last round. */
  #leftMs(delayMs: number): number {
    return Math.max(0, (this.#health.checkedAt ?? 0) + delayMs - this.#deps.clock.now());
  }
}

/** A backend that wants a login has answered; a check without the credential that it needs was never sent. */
const outcomeOf = ({ code, isOutage }: VmcpError): CheckOutcome => {
  if (code === 'backend_unauthenticated') return 'succeeded';
  return code === 'credential_unavailable' && !isOutage ? 'undecided' : 'failed';
};

const isServing = ({ status }: Health): boolean => status === 'ready' || status === 'unauthenticated';
