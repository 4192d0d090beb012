import type { Clock, Timer } from '../process/index.ts';

export interface RootsChangesDeps {
  readonly clock: Clock;
  /** Sends a notification to the backends of the session. */
  readonly relay: (notification: Buffer) => void | Promise<void>;
}

/** Time between two notifications to the backends. */
export const ROOTS_CHANGES_MS = 1_000;

/** Longest notification that is relayed as it is. */
const MAX_BYTES = 4_096;

const PLAIN = Buffer.from('{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}');

/**
 * Relays `notifications/roots/list_changed` of one session. Each of them goes to every backend of the session and
 * counts against no limit, so the first one goes on at once, and those that follow too closely become one: they all say
 * that backends may ask for the roots again.
 */
export class RootsChanges {
  readonly #deps: RootsChangesDeps;
  #newest: Buffer = PLAIN;
  #relayedAt = -Infinity;
  #timer: Timer | undefined;

  constructor(deps: RootsChangesDeps) {
    this.#deps = deps;
  }

  /** Returns what `relay` returned, or nothing where the notification has to wait. */
  note(notification: Buffer): void | Promise<void> {
    this.#newest = notification.length > MAX_BYTES ? PLAIN : notification;
    if (this.#timer) return;
    const { clock } = this.#deps;
    const waitMs = Math.min(ROOTS_CHANGES_MS, this.#relayedAt + ROOTS_CHANGES_MS - clock.now());
    if (waitMs <= 0) return this.#relay();
    this.#timer = clock.after(waitMs, () => {
      this.#timer = undefined;
      void Promise.resolve(this.#relay()).catch(() => {});
    });
  }

  #relay(): void | Promise<void> {
    this.#relayedAt = this.#deps.clock.now();
    return this.#deps.relay(this.#newest);
  }
}
