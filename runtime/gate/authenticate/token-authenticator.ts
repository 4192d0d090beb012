import { type Caller, isSameCaller, type RequestHead, type User } from '../../call/index.ts';
import { asVmcpError, type Challenge, VmcpError } from '../../errors.ts';
import type { AuthenticationMetrics } from './authentication-metrics.ts';
import { isToken, presentedCredential } from './bearer-token.ts';
import type { FailureBudget } from './failure-budget.ts';
import type { IssuerVerifier } from './issuer-verifier.ts';
import type { ProtectedResource } from './protected-resource.ts';
import { tooManyFailures } from './refusals.ts';
import { type Known, type Standing, type TokenCache, tokenKey } from './token-cache.ts';
import type { TokenVerifier } from './verify-token.ts';
import { invalid, type RefusedToken, type ValidToken } from './verdict.ts';

export interface TokenAuthenticatorDeps {
  readonly verifier: TokenVerifier;
  /** What clients are told of this server at this moment; undefined: no tokens are taken any more. */
  readonly resource: () => ProtectedResource | undefined;
  /** Both outlive changes of the settings. */
  readonly cache: TokenCache;
  readonly failures: FailureBudget;
  readonly metrics: Pick<AuthenticationMetrics, 'attempted' | 'lookedUp'>;
  /** Absent: no user has tokens of upstream providers. */
  readonly upstreamTokenOf?: ((user: Pick<User, 'issuer' | 'subject'>) => User['upstreamToken']) | undefined;
  /** Absent: the access of no user is ever ended here. */
  readonly isRevoked?: IsRevoked | undefined;
  readonly now: () => number;
}

/**
 * Whether who runs the server has ended what was issued to the user at that time. Undefined: that is not known at this
 * moment.
 */
export type IsRevoked = (user: Pick<User, 'issuer' | 'subject'>, issuedAtMs: number) => boolean | undefined;

/** Where requests are counted. */
interface Counts extends Pick<AuthenticationMetrics, 'attempted' | 'lookedUp'> {
  readonly failures: FailureBudget;
}

interface Presented {
  readonly key: string;
  readonly token: string;
  /** Undefined: nothing is counted. */
  readonly counts: Counts | undefined;
}

/** Finds the user of a request by its Bearer token, under one set of settings. */
export class TokenAuthenticator {
  readonly #deps: TokenAuthenticatorDeps;
  readonly #verifier: TokenVerifier;
  readonly #cache: TokenCache;
  readonly #counts: Counts;
  /** Checks under way, by token; as many as there are requests under way at most. */
  readonly #checks = new Map<string, Promise<Known>>();
  /** Other settings are in force: what is found out from now on is not kept. */
  #isClosed = false;

  constructor(deps: TokenAuthenticatorDeps) {
    this.#deps = deps;
    this.#verifier = deps.verifier;
    this.#cache = deps.cache;
    this.#counts = { ...deps.metrics, failures: deps.failures };
  }

  /** Returns a promise only for a token that is not known. Throws VmcpError. */
  readonly authenticate = (head: RequestHead): Caller | Promise<Caller> => this.#authenticate(head, this.#counts);

  /** As `authenticate`, for somebody who asks about a token: it neither counts nor suffers from refused ones. */
  readonly examine = (head: RequestHead): Caller | Promise<Caller> => this.#authenticate(head, undefined);

  #authenticate(head: RequestHead, counts: Counts | undefined): Caller | Promise<Caller> {
    const credential = presentedCredential(head.headers);
    if (credential === undefined) {
      counts?.attempted('missing');
      throw this.#unpresented(head);
    }
    const key = this.#cache.keyOf(credential);
    const known = this.#known(key);
    counts?.lookedUp(known !== undefined);
    if (known) return this.#admitted(known, head, counts);
    if (!isToken(credential)) return this.#admitted(NO_TOKEN, head, counts);
    return this.#check({ key, token: credential, counts }, head);
  }

  /** What was found out about a token by what is in force. */
  #known(key: string): Known | undefined {
    const known = this.#cache.get(key, this.#deps.now());
    return known?.kind === 'user' && !this.uses(known.verifier) ? undefined : known;
  }

  /** Whether tokens are checked by this one. */
  readonly uses = (verifier: IssuerVerifier): boolean => this.#verifier.uses(verifier);

  /** As `Gate.hasVerified`. */
  readonly hasVerified = (caller: Caller): boolean => {
    const verifier = caller.kind === 'user' ? this.#cache.verifierOf(caller) : undefined;
    return verifier !== undefined && this.uses(verifier);
  };

  /** As `Gate.verifyAgain`: whether this token is valid, and still of the same user. */
  readonly verifyAgain = async (caller: Caller): Promise<Caller | undefined> => {
    if (caller.kind !== 'user' || !isToken(caller.token)) return undefined;
    if (this.hasVerified(caller) && caller.isWithdrawn?.() !== true) return caller;
    const key = tokenKey(caller.token);
    const known = this.#known(key) ?? (await this.#checked(key, caller.token));
    const isThis = known.kind === 'user' && isSameCaller(known.user, caller) && this.#isRevoked(known.user) === false;
    return isThis ? known.user : undefined;
  };

  /** Lets the checks under way end: their requests came while this was in force. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#checks.values());
    await this.#verifier.close();
  }

  async #check({ key, token, counts }: Presented, head: RequestHead): Promise<Caller> {
    const { now } = this.#deps;
    const failures = counts?.failures;
    // A token that was valid before is checked in any case, however many others of its address are not valid.
    if (!this.#cache.wasValid(key) && failures?.has(head.clientAddress, now()) === false) {
      counts?.attempted('throttled');
      throw tooManyFailures();
    }
    // What costs a check counts, also where the issuer could not be asked.
    let isFailed = true;
    try {
      const known = await this.#checked(key, token).catch((error: unknown) => {
        if (asVmcpError(error).code === 'issuer_unavailable') counts?.attempted('issuer_unavailable');
        throw error;
      });
      isFailed = known.kind === 'refused' && !known.isUnchecked;
      return this.#admitted(known, head, counts);
    } finally {
      if (isFailed) failures?.spend(head.clientAddress, now());
    }
  }

  #checked(key: string, token: string): Promise<Known> {
    const underWay = this.#checks.get(key);
    if (underWay) return underWay;
    const check = this.#run(key, token).finally(() => this.#checks.delete(key));
    this.#checks.set(key, check);
    return check;
  }

  async #run(key: string, token: string): Promise<Known> {
    const { generation } = this.#cache;
    const verdict = await this.#verifier.verify(token);
    // Keys or settings were replaced meanwhile: the verdict is given once, and not kept.
    const isCurrent = generation === this.#cache.generation && !this.#isClosed;
    const now = this.#deps.now();
    if (verdict.kind === 'refused') {
      if (isCurrent) this.#cache.setRefused(key, verdict, now);
      return verdict;
    }
    const user = userOf(verdict, token, {
      standing: isCurrent ? this.#cache.standingOf(key) : { isWithdrawn: false },
      isRevoked: () => this.#isRevoked(verdict) !== false,
      upstreamToken: this.#deps.upstreamTokenOf?.(verdict) ?? NO_UPSTREAM_TOKEN,
    });
    const known = { kind: 'user', user, verifier: verdict.verifier } as const;
    if (isCurrent) this.#cache.setValid(key, known, now);
    return known;
  }

  #admitted(known: Known, head: RequestHead, counts: Counts | undefined): Caller {
    const isRevoked = known.kind === 'user' && this.#isRevoked(known.user);
    if (isRevoked === undefined)
      throw new VmcpError('store_unavailable', 'it is not known yet who has access; try again');
    if (known.kind === 'user' && isRevoked)
      return this.#admitted({ ...ACCESS_ENDED, issuer: known.user.issuer }, head, counts);
    if (known.kind === 'user') {
      counts?.attempted('valid', known.user.issuer);
      return known.user;
    }
    counts?.attempted(known.reason, known.issuer);
    throw this.#refusal(known, head);
  }

  /** Asked at each request: an ended access ends at once, whatever is cached. */
  #isRevoked(user: Pick<User, 'issuer' | 'subject' | 'claims'>): boolean | undefined {
    const { isRevoked } = this.#deps;
    if (!isRevoked) return false;
    // RFC 7519 §4.1.6: in seconds. A token that does not say when it was issued is older than any moment.
    const issuedAt = user.claims['iat'];
    return isRevoked(user, typeof issuedAt === 'number' ? issuedAt * 1_000 : 0);
  }

  #unpresented(head: RequestHead): VmcpError {
    // Without a credential there is nothing wrong with one: no `error` (RFC 6750 §3.1).
    return new VmcpError('invalid_token', 'a token is needed: Authorization: Bearer <token>', {
      challenge: this.#challenge({}, head),
    });
  }

  #refusal({ code, description, scopes }: RefusedToken, head: RequestHead): VmcpError {
    const challenge = this.#challenge({ error: code, error_description: description }, head, scopes);
    return new VmcpError(code, description, { challenge });
  }

  #challenge(error: Challenge, head: RequestHead, scopes?: readonly string[]): Challenge {
    const resource = this.#deps.resource();
    const scope = scopes?.join(' ') ?? resource?.scope ?? '';
    return {
      ...error,
      ...(scope !== '' && { scope }),
      ...(resource && { resource_metadata: resource.metadataUrl(head) }),
    };
  }
}

const ACCESS_ENDED = invalid('revoked', 'the access of this user has been ended');

const NO_TOKEN = invalid('malformed', 'the Authorization header holds no token');

const NO_UPSTREAM_TOKEN: User['upstreamToken'] = async () => undefined;

interface UserParts extends Pick<User, 'upstreamToken'> {
  readonly standing: Standing;
  readonly isRevoked: () => boolean;
}

const userOf = (
  { issuer, subject, claims, expiresAt }: ValidToken,
  token: string,
  { standing, isRevoked, upstreamToken }: UserParts,
): User => ({
  kind: 'user',
  issuer,
  subject,
  // An answer of introspection may lack the one, a mapped subject the other.
  claims: { iss: issuer, sub: subject, ...claims },
  token,
  expiresAt,
  isWithdrawn: () => standing.isWithdrawn || isRevoked(),
  upstreamToken,
});
