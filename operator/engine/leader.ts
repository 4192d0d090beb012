import { microTime, withTimeout } from './timing.ts';
import { sleep, type Clock } from '../../runtime/process/index.ts';
import type { ApiClient } from '../api/client.ts';
import { isConflict } from '../api/errors.ts';
import { fieldManager } from '../object.ts';
import type { KubeObject } from '../object.ts';

export interface ElectionOptions {
  readonly namespace: string;
  /** Unique to this process. */
  readonly identity: string;
  /** A lease not renewed for this long is free. Default 15 s. */
  readonly leaseMs?: number;
  /** A leader that could not renew for this long stops leading. Default 10 s. */
  readonly renewWithinMs?: number;
  /** Default 2 s. */
  readonly retryMs?: number;
  /** How long what is under way at a stop may take, as far as the lease lasts. Default: `STOP_WITHIN_MS`. */
  readonly stopWithinMs?: number;
}

export interface ElectionDeps {
  readonly api: Pick<ApiClient, 'get' | 'createOwned' | 'replace'>;
  /** Measures how long the lease lasts: one that is set on the way would make two leaders. */
  readonly clock: Clock;
  /** Time of day, for the times in the Lease. */
  readonly now: () => number;
  readonly onFailure: (error: unknown) => void;
}

interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}

/**
 * A lease as last seen, and when its content was first seen so by our own clock: clocks of others are never compared.
 */
interface Observation {
  readonly lease: KubeObject;
  readonly sinceMs: number;
}

const leaseName = fieldManager;

/** Leaves most of the 30 s that a pod has for its end to the rest of it. */
export const STOP_WITHIN_MS = 5000;

/**
 * Does the leader's work: after `stopping` no new work starts, after `cancelled` work in flight is aborted. Nothing is
 * written unless `isHeld`: a process that was suspended learns from its timers too late that its term is over.
 */
export type Lead = (stopping: AbortSignal, cancelled: AbortSignal, isHeld: () => boolean) => Promise<void>;

/**
 * Runs `lead` whenever this process holds the Lease. A lost lease ends and cuts off at once; a stop (`signal`) lets
 * what is under way come to its end, and then the lease is given back, so that another process takes over at once.
 * Resolves after `signal` is aborted.
 */
export const elect = async (
  options: ElectionOptions,
  deps: ElectionDeps,
  lead: Lead,
  signal: AbortSignal,
): Promise<void> => {
  const election = new Election(options, deps);
  while (!signal.aborted) {
    const askedAt = deps.clock.now();
    if (await election.tryHold(election.renewWithinMs / 2, signal)) {
      await leadWhileHeld(election, { clock: deps.clock, heldSinceMs: askedAt }, lead, signal);
    }
    await election.pause(signal);
  }
};

/**
 * The lease counts from when it was asked for and no attempt outlasts it: others count from when they see it renewed,
 * which is later, so that this term ends before another can begin.
 */
const leadWhileHeld = async (
  election: Election,
  { clock, heldSinceMs }: { readonly clock: Clock; readonly heldSinceMs: number },
  lead: Lead,
  signal: AbortSignal,
): Promise<void> => {
  const term = new AbortController();
  let endsAt = heldSinceMs + election.renewWithinMs;
  const isHeld = (): boolean => !election.isHeldByAnother && clock.now() < endsAt;
  const leading = lead(AbortSignal.any([term.signal, signal]), term.signal, isHeld);
  while (!signal.aborted && isHeld()) {
    await election.pause(signal, endsAt - clock.now());
    const askedAt = clock.now();
    if (askedAt < endsAt && (await election.tryHold(endsAt - askedAt, signal))) {
      endsAt = askedAt + election.renewWithinMs;
    }
  }
  // No other replica leads before the lease ends, and it is not renewed any more.
  const leftMs = signal.aborted && !election.isHeldByAnother ? endsAt - clock.now() : 0;
  await awaitOrCancel({ clock, ms: Math.min(leftMs, election.stopWithinMs) }, term, leading);
  await election.release();
};

/** Waits until `leading` ends, and aborts `term` when it does not end within `ms`. */
export const awaitOrCancel = async (
  { clock, ms }: { readonly clock: Clock; readonly ms: number },
  term: AbortController,
  leading: Promise<void>,
): Promise<void> => {
  const cutOff = (): void => term.abort(new Error('leadership ended'));
  if (ms <= 0) cutOff();
  const timer = clock.after(Math.max(0, ms), cutOff);
  await leading.finally(() => timer.cancel());
};

class Election {
  readonly renewWithinMs: number;
  readonly stopWithinMs: number;
  readonly #options: Required<ElectionOptions>;
  readonly #deps: ElectionDeps;
  #seen: Observation | undefined;

  constructor(options: ElectionOptions, deps: ElectionDeps) {
    this.#options = { leaseMs: 15_000, renewWithinMs: 10_000, retryMs: 2000, stopWithinMs: STOP_WITHIN_MS, ...options };
    this.#deps = deps;
    this.renewWithinMs = this.#options.renewWithinMs;
    this.stopWithinMs = this.#options.stopWithinMs;
  }

  get isHeldByAnother(): boolean {
    const holder = specOf(this.#seen?.lease).holderIdentity ?? '';
    return holder !== '' && holder !== this.#options.identity;
  }

  async pause(signal: AbortSignal, atMostMs = Number.POSITIVE_INFINITY): Promise<void> {
    await sleep(this.#deps.clock, Math.min(this.#options.retryMs, atMostMs), signal);
  }

  /**
   * Takes or renews the lease if that is ours to do. False when it is not, or the server does not answer within `ms`.
   */
  async tryHold(ms: number, signal: AbortSignal): Promise<boolean> {
    try {
      return await withTimeout({ clock: this.#deps.clock, ms }, (limited) => this.#attempt(limited), signal);
    } catch (error) {
      if (!signal.aborted && !isConflict(error)) {
        this.#deps.onFailure(error);
      }
      return false;
    }
  }

  async #attempt(signal: AbortSignal): Promise<boolean> {
    const lease = await this.#deps.api.get(this.#key, signal);
    signal.throwIfAborted();
    if (lease === undefined) {
      this.#observe(await this.#deps.api.createOwned(this.#claim(undefined), signal));
      return true;
    }
    this.#observe(lease);
    if (this.isHeldByAnother && !this.#isExpired()) {
      return false;
    }
    this.#observe(await this.#deps.api.replace(this.#claim(lease), signal));
    return true;
  }

  async release(): Promise<void> {
    const lease = this.#seen?.lease;
    if (lease === undefined || this.isHeldByAnother) {
      return;
    }
    const spec: LeaseSpec = { ...specOf(lease), holderIdentity: '', renewTime: this.#microTime() };
    try {
      const released = { ...lease, spec };
      await withTimeout({ clock: this.#deps.clock, ms: 2000 }, (signal) => this.#deps.api.replace(released, signal));
    } catch (error) {
      this.#deps.onFailure(error);
    }
  }

  get #key(): { readonly kind: string; readonly namespace: string; readonly name: string } {
    return { kind: 'Lease', namespace: this.#options.namespace, name: leaseName };
  }

  #observe(lease: KubeObject): void {
    if (this.#seen?.lease.metadata.resourceVersion !== lease.metadata.resourceVersion) {
      this.#seen = { lease, sinceMs: this.#deps.clock.now() };
    }
  }

  #isExpired(): boolean {
    const durationMs = (specOf(this.#seen?.lease).leaseDurationSeconds ?? 0) * 1000 || this.#options.leaseMs;
    return this.#seen !== undefined && this.#deps.clock.now() - this.#seen.sinceMs >= durationMs;
  }

  #claim(lease: KubeObject | undefined): KubeObject {
    const before = specOf(lease);
    const isRenewal = before.holderIdentity === this.#options.identity;
    const now = this.#microTime();
    const spec: LeaseSpec = {
      holderIdentity: this.#options.identity,
      leaseDurationSeconds: Math.ceil(this.#options.leaseMs / 1000),
      acquireTime: isRenewal ? (before.acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: (before.leaseTransitions ?? 0) + (isRenewal || lease === undefined ? 0 : 1),
    };
    const { namespace, name } = this.#key;
    const metadata = lease?.metadata ?? { namespace, name };
    return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
  }

  #microTime(): string {
    return microTime(this.#deps.now());
  }
}

const specOf = (lease: KubeObject | undefined): LeaseSpec => lease?.['spec'] ?? {};
