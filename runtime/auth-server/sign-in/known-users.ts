import type { Clock } from '../../process/index.ts';
import type { Store } from '../../store/index.ts';
import type { Sealer } from '../keys/sealer.ts';
import { digestOf, newSecret, secretCookie, type SecretCookie } from '../login/browser.ts';
import type { Finished } from '../login/logins.ts';

/** The user of a browser, as the first identity provider has told it a while ago. */
export interface KnownUser extends Finished {
  /** Milliseconds since the epoch. */
  readonly signedInAt: number;
}

export interface KnownUsersDeps {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly entropy: (bytes: number) => Buffer;
  readonly clock: Clock;
  /** Whether what the user had at that time was ended. */
  readonly isEnded: (user: string, atMs: number) => Promise<boolean>;
  /** Address of the pages. */
  readonly base: string;
}

/** A browser has to show again who its user is after this time, whatever was done in it meanwhile. */
export const KNOWN_MS = 15 * 60_000;

/**
 * Who the users of browsers are. The secret in the cookie is made for each sign-in, so that nobody can give a browser a
 * secret before (session fixation), and the store holds its digest alone.
 */
export class KnownUsers {
  readonly #deps: KnownUsersDeps;
  readonly #cookie: SecretCookie;

  constructor(deps: KnownUsersDeps) {
    this.#deps = deps;
    this.#cookie = secretCookie(deps.base, 'vmcp-user');
  }

  async who(cookieHeader: string | undefined): Promise<KnownUser | undefined> {
    const { store, sealer, clock, isEnded } = this.#deps;
    const secret = this.#cookie.secretIn(cookieHeader);
    if (secret === undefined) return undefined;
    const key = keyOf(secret);
    const sealed = await store.get(key);
    const text = sealed && (await sealer.unseal(sealed, key));
    const known = text && (JSON.parse(text.toString()) as KnownUser);
    if (!known || clock.now() >= known.signedInAt + KNOWN_MS) return undefined;
    return (await isEnded(known.user, known.signedInAt)) ? undefined : known;
  }

  /** The value of `Set-Cookie` by which the browser shows it. */
  async remember({ user, name, email }: Finished): Promise<string> {
    const { store, sealer, entropy, clock } = this.#deps;
    const secret = newSecret(entropy);
    const key = keyOf(secret);
    const known: KnownUser = { user, name, email, signedInAt: clock.now() };
    await store.set(key, await sealer.seal(Buffer.from(JSON.stringify(known)), key), KNOWN_MS);
    return this.#cookie.setting(secret);
  }

  async forget(cookieHeader: string | undefined): Promise<void> {
    const secret = this.#cookie.secretIn(cookieHeader);
    if (secret !== undefined) await this.#deps.store.delete(keyOf(secret));
  }
}

const keyOf = (secret: string): string => `user:${digestOf(secret)}`;
