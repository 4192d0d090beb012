import { hash, timingSafeEqual } from 'node:crypto';
import type { Fields, QuotaGroup, Store } from '../../store/index.ts';
import type { Sealer } from '../keys/sealer.ts';
import type { Clock } from '../../process/index.ts';
import { digestOf } from './browser.ts';
import type { Purpose } from './purpose.ts';

/** A login that is under way: it belongs to one browser. */
export interface Login {
  readonly id: string;
  readonly purpose: Purpose;
  /** In milliseconds since the epoch. */
  readonly begunAt: number;
  /** Who has signed in, by identity provider. */
  readonly finished: ReadonlyMap<string, Finished>;
}

/** A sign-in at one identity provider that has ended well. */
export interface Finished {
  /** `sub` of the tokens that this server issues. */
  readonly user: string;
  readonly name?: string | undefined;
  readonly email?: string | undefined;
}

/** The authorization request that a browser has been sent to an identity provider with. */
export interface UpstreamRequest {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

export interface SentRequest {
  readonly provider: string;
  readonly request: UpstreamRequest;
}

export interface LoginsDeps {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly entropy: (bytes: number) => Buffer;
  readonly clock: Clock;
  /** Life of a login. */
  readonly ttlMs: number;
  /** Logins at a time, of all clients; those in which nobody has signed in yet are displaced by newer ones. */
  readonly mostLogins?: number;
}

const MOST_LOGINS = 10_000;
/** Sign-ins of one user, in the life of a login, that keep their login from being displaced: nobody fills the room. */
const KEPT_OF_USER = 64;
/** What is kept of one login: of each provider the last request, and the sign-in. */
const MOST_FIELDS = 128;
const GROUP = '{logins}';
const ID_BYTES = 18;
const SECRET_BYTES = 32;
const ABOUT = 'about';
const REQUESTED = 'requested:';
const FINISHED = 'finished:';

interface About {
  readonly purpose: Purpose;
  readonly begunAt: number;
  /** Digest of the browser's secret. */
  readonly browser: string;
}

/** The login has ended, or was displaced. */
export class LoginGone extends Error {
  override readonly name = 'LoginGone';
}

/** Somebody else has signed in than the user whose account was to be renewed. */
export class OtherUser extends Error {
  override readonly name = 'OtherUser';
}

/** The id of the login that a state belongs to. */
export const loginIn = (state: string): string => state.split('.', 1)[0] ?? '';

/** Logins in the store: whichever replica a browser reaches, it goes on there. */
export class Logins {
  readonly #deps: LoginsDeps;
  readonly #group: QuotaGroup;

  constructor(deps: LoginsDeps) {
    this.#deps = deps;
    this.#group = { name: GROUP, limit: deps.mostLogins ?? MOST_LOGINS };
  }

  /** Begins a login. Throws `overloaded` where too many people sign in at this moment. */
  async open(purpose: Purpose, browser: string): Promise<Login> {
    const { store, clock, ttlMs } = this.#deps;
    const id = this.#token(ID_BYTES);
    const begunAt = clock.now();
    const about: About = { purpose, begunAt, browser: digestOf(browser) };
    await store.createMap(keyOf(id), new Map([[ABOUT, await this.#sealed(id, ABOUT, about)]]), ttlMs, this.#group);
    return { id, purpose, begunAt, finished: new Map() };
  }

  /** Undefined: it has ended, or belongs to another browser. */
  async read(id: string, browser: string | undefined): Promise<Login | undefined> {
    const fields = await this.#deps.store.readMap(keyOf(id));
    const about = await this.#opened<About>(id, ABOUT, fields);
    if (!fields || !about || browser === undefined || !isEqual(digestOf(browser), about.browser)) return undefined;
    const finished = new Map<string, Finished>();
    for (const field of [...fields.keys()].filter((each) => each.startsWith(FINISHED))) {
      const one = await this.#opened<Finished>(id, field, fields);
      if (one) finished.set(field.slice(FINISHED.length), one);
    }
    return { id, purpose: about.purpose, begunAt: about.begunAt, finished };
  }

  /**
   * A new request to this provider, in place of the one before: a browser that goes there again and again takes no more
   * room.
   */
  async newRequest({ id }: Login, provider: string): Promise<UpstreamRequest> {
    const [random, nonce, codeVerifier] = [0, 1, 2].map(() => this.#token(SECRET_BYTES)) as [string, string, string];
    const request = { state: `${id}.${random}`, nonce, codeVerifier };
    await this.#set(id, `${REQUESTED}${provider}`, { provider, request } satisfies SentRequest);
    return request;
  }

  /** The request with this state, once. Undefined: it was answered before, or the browser has been sent again since. */
  async takeRequest({ id }: Login, state: string): Promise<SentRequest | undefined> {
    const fields = await this.#deps.store.readMap(keyOf(id));
    for (const [field, sealed] of fields ?? []) {
      const sent = field.startsWith(REQUESTED) ? await this.#opened<SentRequest>(id, field, fields) : undefined;
      if (sent && isEqual(sent.request.state, state))
        return (await this.#deps.store.deleteField(keyOf(id), field, sealed)) ? sent : undefined;
    }
    return undefined;
  }

  /** The login, with one provider more at which the user has signed in. */
  async finish(login: Login, provider: string, finished: Finished): Promise<Login> {
    const { store, ttlMs } = this.#deps;
    await this.#set(login.id, `${FINISHED}${provider}`, finished);
    // From now on it is no longer displaced by logins of strangers, but for a user who has very many.
    if (await this.#isKept(finished.user)) await store.touch(keyOf(login.id), ttlMs, this.#group);
    return { ...login, finished: new Map([...login.finished, [provider, finished]]) };
  }

  async close({ id }: Login): Promise<void> {
    await this.#deps.store.delete(keyOf(id), this.#group);
  }

  async #isKept(user: string): Promise<boolean> {
    const key = `{logins-of}:${hash('sha256', user, 'base64url')}`;
    const bucket = { key, capacity: KEPT_OF_USER, refillPeriodMs: this.#deps.ttlMs, overflowKey: '{logins-of}' };
    return (await this.#deps.store.takeTokens([bucket])).waitMs === 0;
  }

  #token(bytes: number): string {
    return this.#deps.entropy(bytes).toString('base64url');
  }

  #sealed(id: string, field: string, value: object): Promise<Buffer> {
    return this.#deps.sealer.seal(Buffer.from(JSON.stringify(value)), `${id} ${field}`);
  }

  async #opened<T>(id: string, field: string, fields: Fields | undefined): Promise<T | undefined> {
    const sealed = fields?.get(field);
    const text = sealed && (await this.#deps.sealer.unseal(sealed, `${id} ${field}`));
    return text && (JSON.parse(text.toString()) as T);
  }

  async #set(id: string, field: string, value: object): Promise<void> {
    const sealed = await this.#sealed(id, field, value);
    if (!(await this.#deps.store.setField(keyOf(id), field, sealed, MOST_FIELDS))) throw new LoginGone();
  }
}

const keyOf = (id: string): string => `${GROUP}:${hash('sha256', id, 'base64url')}`;

const isEqual = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
