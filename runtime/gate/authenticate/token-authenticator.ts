import { type Caller, isSameCaller, type RequestHead, type User } from '../../call/index.ts';
import { asVmcpError, type Challenge, VmcpError } from '../../errors.ts';
import type { AuthenticationMetrics, KnownTokens } from './authentication-metrics.ts';
import { isToken, presentedCredential } from './bearer-token.ts';
import { FailureBudget, type FailureBounds } from './failure-budget.ts';
import type { ProtectedResource } from './protected-resource.ts';
import { tooManyFailures } from './refusals.ts';
import { type Known, type Standing, TokenCache, type TokenCacheBounds, tokenKey } from './token-cache.ts';
import type { TokenVerifier } from './verify-token.ts';
import { invalid, type RefusedToken, type ValidToken } from './verdict.ts';

export interface TokenAuthenticatorDeps {
  readonly resource: ProtectedResource;
  readonly makeVerifier: (onKeysChanged: () => void) => TokenVerifier;
  readonly metrics: AuthenticationMetrics;
  readonly now: () => number;
  readonly bounds: { readonly tokens: TokenCacheBounds; readonly failures: FailureBounds };
}

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

/** Finds the user of a request by its Bearer token. */
export class TokenAuthenticator {
  readonly #deps: TokenAuthenticatorDeps;
  readonly #verifier: TokenVerifier;
  readonly #cache: TokenCache;
  readonly #counts: Counts;
  /** Checks under way, by token; as many as there are requests under way at most. */
  readonly #checks = new Map<string, Promise<Known>>();
  /** Grows when what was verified is to be verified again. */
  #generation = 0;

  constructor(deps: TokenAuthenticatorDeps) {
    this.#deps = deps;
    this.#cache = new TokenCache(deps.bounds.tokens);
    this.#counts = { ...deps.metrics, failures: new FailureBudget(deps.bounds.failures) };
    this.#verifier = deps.makeVerifier(() => this.#forget());
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
    const key = tokenKey(credential);
    const known = this.#cache.get(key, this.#deps.now());
    counts?.lookedUp(known !== undefined);
    if (known) return this.#admitted(known, head, counts);
    if (!isToken(credential)) return this.#admitted(NO_TOKEN, head, counts);
    return this.#check({ key, token: credential, counts }, head);
  }

  /** Tokens that are known at this moment. */
  get known(): KnownTokens {
    return this.#cache.size;
  }

  /** As `Gate.verifyAgain`: whether this token is valid, and still of the same user. */
  readonly verifyAgain = async (caller: Caller): Promise<Caller | undefined> => {
    if (caller.kind !== 'user' || !isToken(caller.token)) return undefined;
    const key = tokenKey(caller.token);
    const known = this.#cache.get(key, this.#deps.now()) ?? (await this.#checked(key, caller.token));
    return known.kind === 'user' && isSameCaller(known.user, caller) ? known.user : undefined;
  };

  /** Lets the checks under way end: their requests came while this was in force. */
  async close(): Promise<void> {
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
    const generation = this.#generation;
    const verdict = await this.#verifier.verify(token);
    // Keys were replaced meanwhile: the verdict is given once, and not kept.
    const isCurrent = generation === this.#generation;
    const now = this.#deps.now();
    if (verdict.kind === 'refused') {
      if (isCurrent) this.#cache.setRefused(key, verdict, now);
      return verdict;
    }
    const user = userOf(verdict, token, this.#cache.standingOf(key));
    if (isCurrent) this.#cache.setValid(key, user, now);
    return { kind: 'user', user };
  }

  #forget(): void {
    this.#generation += 1;
    this.#cache.clear();
  }

  #admitted(known: Known, head: RequestHead, counts: Counts | undefined): Caller {
    if (known.kind === 'user') {
      counts?.attempted('valid', known.user.issuer);
      return known.user;
    }
    counts?.attempted(known.reason, known.issuer);
    throw this.#refusal(known, head);
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
    const { resource } = this.#deps;
    const scope = scopes?.join(' ') ?? resource.scope;
    return { ...error, ...(scope !== '' && { scope }), resource_metadata: resource.metadataUrl(head) };
  }
}

const NO_TOKEN = invalid('malformed', 'the Authorization header holds no token');

const userOf = ({ issuer, subject, claims, expiresAt }: ValidToken, token: string, standing: Standing): User => ({
  kind: 'user',
  issuer,
  subject,
  // An answer of introspection may lack the one, a mapped subject the other.
  claims: { iss: issuer, sub: subject, ...claims },
  token,
  expiresAt,
  isWithdrawn: () => standing.isWithdrawn,
  upstreamToken: async () => undefined,
});
