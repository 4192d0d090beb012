import type { Clock } from '../../process/index.ts';
import type { UpstreamClient } from './client-authentication.ts';
import type { RegisteredClient } from './registration.ts';
import { unavailable, UpstreamError } from './upstream.ts';

/**
 * Where registered clients are kept, so that all replicas use one and a restart registers none. The secrets in them
 * have to be sealed there.
 */
export interface Registrations {
  readonly get: (key: string) => Promise<RegisteredClient | undefined>;
  /** Resolves with the one that is kept: this one, or the one that was there. */
  readonly setIfAbsent: (key: string, client: RegisteredClient) => Promise<RegisteredClient>;
  /** Removes this very client. */
  readonly remove: (key: string, client: RegisteredClient) => Promise<void>;
}

/** A client is registered anew so long before its secret ends. */
export const RENEWAL_MS = 60_000;
/** Time between attempts to register while they fail. */
export const REGISTRATION_COOL_DOWN_MS = 5_000;
/** Age at which a known client is compared with the one that is kept. */
export const COMPARISON_MS = 3_600_000;
/** A client that the provider has refused for so long is not known there any more. */
export const REFUSED_FOR_MS = 60_000;

export interface ClientRegistration {
  /** Throws UpstreamError. */
  readonly current: () => Promise<RegisteredClient>;
  /** What the token endpoint said of this client. Never throws. */
  readonly told: (client: UpstreamClient, isAccepted: boolean) => Promise<void>;
}

export interface ClientRegistrationDeps {
  readonly registrations: Registrations;
  readonly clock: Pick<Clock, 'now'>;
  /** Throws UpstreamError. */
  readonly register: () => Promise<RegisteredClient>;
}

/** The client that is registered under this key, which is a digest of all that was registered. */
export class RegisteredOnce implements ClientRegistration {
  readonly #key: string;
  readonly #deps: ClientRegistrationDeps;
  #known: RegisteredClient | undefined;
  #attempt: Promise<RegisteredClient> | undefined;
  #failure: { readonly error: unknown; readonly at: number } | undefined;
  #refusedSince: number | undefined;
  #comparedAt = -Infinity;

  constructor(key: string, deps: ClientRegistrationDeps) {
    this.#key = key;
    this.#deps = deps;
  }

  readonly current = async (): Promise<RegisteredClient> => {
    const { clock } = this.#deps;
    if (this.#known && this.#isFit(this.#known)) {
      if (clock.now() - this.#comparedAt >= COMPARISON_MS) void this.#compare(this.#known);
      return this.#known;
    }
    if (this.#failure && clock.now() - this.#failure.at < REGISTRATION_COOL_DOWN_MS) throw this.#failure.error;
    this.#attempt ??= this.#obtain().finally(() => {
      this.#attempt = undefined;
    });
    return this.#attempt;
  };

  /**
   * One refusal may be a fault of the provider, and with another client everybody would have to sign in again: only
   * refusals that go on, without success in between, end the registration.
   */
  readonly told = async ({ id }: UpstreamClient, isAccepted: boolean): Promise<void> => {
    const client = this.#known;
    if (client?.id !== id) return;
    const now = this.#deps.clock.now();
    if (isAccepted) this.#refusedSince = undefined;
    else this.#refusedSince ??= now;
    if (this.#refusedSince === undefined || now - this.#refusedSince < REFUSED_FOR_MS) return;
    this.#known = undefined;
    this.#refusedSince = undefined;
    await this.#deps.registrations.remove(this.#key, client).catch(() => {});
  };

  async #obtain(): Promise<RegisteredClient> {
    try {
      this.#known = (await this.#stored()) ?? (await this.#registered());
      this.#failure = undefined;
      this.#refusedSince = undefined;
      this.#comparedAt = this.#deps.clock.now();
      return this.#known;
    } catch (error) {
      this.#failure = { error, at: this.#deps.clock.now() };
      throw error;
    }
  }

  async #stored(): Promise<RegisteredClient | undefined> {
    const { registrations } = this.#deps;
    const stored = await this.#kept(registrations.get(this.#key));
    if (!stored || this.#isFit(stored)) return stored;
    await this.#kept(registrations.remove(this.#key, stored));
    return undefined;
  }

  /** Another replica may have registered anew; a store that was emptied gets the known client back. */
  async #compare(known: RegisteredClient): Promise<void> {
    const { registrations, clock } = this.#deps;
    this.#comparedAt = clock.now();
    const kept = await this.#stored()
      .then((stored) => stored ?? registrations.setIfAbsent(this.#key, known))
      .catch(() => known);
    if (this.#known === known) this.#known = kept;
  }

  /** Of two replicas that register at the same time, both use the client that was kept first. */
  async #registered(): Promise<RegisteredClient> {
    const client = await this.#deps.register();
    return this.#kept(this.#deps.registrations.setIfAbsent(this.#key, client));
  }

  /** A store that is away is transient as well. */
  async #kept<T>(work: Promise<T>): Promise<T> {
    return work.catch((error: unknown) => {
      throw error instanceof UpstreamError
        ? error
        : unavailable('store_unavailable', 'the registered client cannot be read');
    });
  }

  #isFit({ expiresAt = Infinity }: RegisteredClient): boolean {
    return expiresAt - this.#deps.clock.now() > RENEWAL_MS;
  }
}
