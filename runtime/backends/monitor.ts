import { backoffMs, jittered, type Clock, type Timer } from '../clock.ts';
import { asVmcpError, VmcpError } from '../errors.ts';
import type { Lists } from '../listed.ts';
import type { Catalogue, ListLink } from './catalogue.ts';
import { type Finding, type Health, healthAfter, type HealthSettings, UNKNOWN } from './health.ts';

/** Status and last good lists of one backend. */
export interface BackendState extends Health {
  /** Absent until there were some. */
  readonly lists?: Lists;
}

export interface MonitorDeps {
  readonly backend: string;
  /** Asks the cheapest question that proves the backend alive. Throws VmcpError when it is not. */
  readonly check: (signal: AbortSignal, settings: HealthSettings) => Promise<ListLink>;
  readonly catalogue: Pick<Catalogue, 'isDue' | 'leftOut' | 'lists' | 'read'>;
  readonly settings: () => HealthSettings;
  readonly clock: Clock;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  /** Called after status or lists have changed. */
  readonly onChange: () => void;
}

/** A backend that nobody is served by is tried again after this long, doubled each time up to the interval. */
const FIRST_RETRY_MS = 1_000;
/** Changes often come in bursts. */
const COALESCE_MS = 100;
/** Names that nobody knows make us look at the lists again, and anybody can ask for such names. */
const LOOK_AGAIN_MS = 10_000;
/** What is taken off an interval at most (a part of 1), so that backends do not fall into step. */
const JITTER = 0.1;

/** Looks after one backend, round by round: is it well, and what does it list. */
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
  #isHurried = false;
  #isStopped = false;
  #lookedAgainAt = -Infinity;
  /** Who waits for lists that are read after they asked. */
  #waiting: (() => void)[] = [];
  /** Rounds since the backend was last of use. */
  #retries = 0;

  constructor(deps: MonitorDeps) {
    this.#deps = deps;
  }

  get state(): BackendState {
    const { lists, leftOut } = this.#deps.catalogue;
    const isShort = leftOut !== undefined && this.#health.status === 'ready';
    return { ...this.#health, ...(isShort && { message: leftOut }), ...(lists && { lists }) };
  }

  /** Resolves once the first round has ended, however it went. */
  get firstRound(): Promise<void> {
    return this.#firstRound.promise;
  }

  /** Resolves once the status is no longer `unknown`: a check has succeeded, or as many have failed as it takes. */
  get known(): Promise<void> {
    return this.#known.promise;
  }

  start(): void {
    void this.#go();
  }

  stop(): void {
    this.#isStopped = true;
    this.#tellWaiting();
    this.#timer?.cancel();
    this.#round?.abort(new VmcpError('cancelled', 'no longer served'));
    this.#firstRound.resolve();
    this.#known.resolve();
  }

  /** The settings have changed: the next round comes when they say. */
  reschedule(): void {
    if (this.#timer && !this.#isHurried) this.#goAfter(this.#leftMs(this.#delayMs()));
  }

  /** The backend says that a list has changed: it is asked for again at once, and a second after the last time in a flood. */
  noteChange(): void {
    this.#isStale = true;
    this.#hurry(COALESCE_MS);
  }

  /**
   * Resolves once the lists were read again, or could not be: a backend may have changed them without a word. At most every 10 s for all who
   * ask; else, and where nothing is listed, at once.
   */
  lookAgain(): Promise<void> {
    const now = this.#deps.clock.now();
    const isDue = now - this.#lookedAgainAt >= LOOK_AGAIN_MS && this.#deps.catalogue.lists !== undefined;
    if (this.#isStopped || (!isDue && this.#waiting.length === 0)) return Promise.resolve();
    if (isDue) {
      this.#lookedAgainAt = now;
      this.#isStale = true;
      void this.#go();
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #tellWaiting(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** A call was answered. Where that contradicts the status, a round decides. */
  noteAnswer(): void {
    if (this.#health.status === 'unavailable' || this.#health.status === 'unknown') this.#hurry(0);
  }

  /** A call was answered by something that is not what the backend was taken for. */
  noteOddity(): void {
    this.#hurry(0);
  }

  /** Once for all of a burst. */
  #hurry(ms: number): void {
    if (this.#isHurried || this.#round || this.#isStopped) return;
    this.#isHurried = true;
    this.#goAfter(Math.max(ms, this.#leftMs(FIRST_RETRY_MS)));
  }

  #goAfter(ms: number): void {
    this.#timer?.cancel();
    this.#timer = this.#deps.clock.after(ms, () => void this.#go());
  }

  async #go(): Promise<void> {
    if (this.#round || this.#isStopped) return;
    this.#isHurried = false;
    this.#timer?.cancel();
    this.#timer = undefined;
    const round = new AbortController();
    this.#round = round;
    const { clock, settings, onChange } = this.#deps;
    const before = this.state;
    const beganAt = clock.now();
    const finding = await this.#look(round);
    this.#round = undefined;
    if (this.#isStopped) return;
    this.#health = healthAfter(this.#health, finding, { ...settings(), now: clock.now() });
    this.#retries = isOfUse(this.#health) ? 0 : this.#retries + 1;
    const delayMs = this.#delayMs();
    // The interval is from check to check, however long one takes; yet a backend that hangs is given a rest.
    this.#goAfter(Math.max(delayMs / 10, beganAt + delayMs - clock.now()));
    // It changed again while it was being read.
    if (this.#isStale && finding.kind === 'well') this.noteChange();
    const { status, message, lists } = this.state;
    if (status !== before.status || message !== before.message || lists !== before.lists) onChange();
    if (!this.#isStale || finding.kind !== 'well') this.#tellWaiting();
    this.#firstRound.resolve();
    if (status !== 'unknown') this.#known.resolve();
  }

  async #look(round: AbortController): Promise<Finding> {
    const { clock, catalogue } = this.#deps;
    try {
      const link = await this.#check(round);
      const now = clock.now();
      if (!this.#isStale && this.#health.status === 'ready' && !catalogue.isDue(link, now)) return { kind: 'well' };
      this.#isStale = false;
      return await this.#list(link, { now, signal: round.signal });
    } catch (error) {
      return { kind: 'failed', error: asVmcpError(error) };
    }
  }

  async #check(round: AbortController): Promise<ListLink> {
    const { backend, clock, check, settings } = this.#deps;
    const health = settings();
    const timer = clock.after(health.timeoutMs, () =>
      round.abort(new VmcpError('backend_timeout', `backend "${backend}" did not answer in time`)),
    );
    try {
      return await check(round.signal, health);
    } finally {
      timer.cancel();
    }
  }

  async #list(link: ListLink, how: { readonly now: number; readonly signal: AbortSignal }): Promise<Finding> {
    const { catalogue } = this.#deps;
    try {
      await catalogue.read(link, how);
      return { kind: 'well' };
    } catch (error) {
      // Without a list there is nothing to serve.
      return { kind: catalogue.lists ? 'stale' : 'failed', error: asVmcpError(error) };
    }
  }

  #delayMs(): number {
    const { random, settings } = this.#deps;
    const { intervalMs } = settings();
    const retry = { baseMs: Math.min(FIRST_RETRY_MS, intervalMs), maxMs: intervalMs, jitter: JITTER };
    return this.#retries === 0 ? jittered(intervalMs, random, JITTER) : backoffMs(this.#retries, retry, random);
  }

  /** Of a delay that began with the last round. */
  #leftMs(delayMs: number): number {
    return Math.max(0, (this.#health.checkedAt ?? 0) + delayMs - this.#deps.clock.now());
  }
}

const isOfUse = ({ status }: Health): boolean => status === 'ready' || status === 'unauthenticated';
