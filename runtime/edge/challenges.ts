import type { Clock } from '../process/index.ts';

/** How long a client may answer a challenge with its sign-in, before it is taken for one that cannot. */
const CHALLENGE_MS = 10 * 60_000;
const MOST_CHALLENGES = 10_000;

/**
 * The clients that were challenged by HTTP 401. Many clients refresh their token then, which changes nothing, and come
 * back: they get an answer that a person can read.
 */
export class Challenges {
  readonly #clock: Clock;
  /** When, by client and provider; the oldest first. */
  readonly #at = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isFirst(key: string): boolean {
    const now = this.#clock.now();
    const before = this.#at.get(key);
    if (before !== undefined && now - before < CHALLENGE_MS) return false;
    this.#at.delete(key);
    const [oldest] = this.#at.keys();
    if (this.#at.size >= MOST_CHALLENGES && oldest !== undefined) this.#at.delete(oldest);
    this.#at.set(key, now);
    return true;
  }
}
