import type { IssuerVerifier, TakeVerifier } from './issuer-verifier.ts';
import { readJwt, verifyJwt } from './jwt.ts';
import type { IssuerSettings } from './settings.ts';
import type { Taken } from './shared-by-settings.ts';
import { type RefusedToken, unchecked, type ValidToken, type Verdict } from './verdict.ts';

/** What came of checking a token, and what has found it valid. */
export type Verified = (ValidToken & { readonly verifier: IssuerVerifier }) | RefusedToken;

export interface TokenVerifier {
  /** Throws `issuer_unavailable` where the issuer would have to be asked and cannot be. */
  readonly verify: (token: string) => Promise<Verified>;
  /** Whether tokens are checked by this one. */
  readonly uses: (verifier: IssuerVerifier) => boolean;
  readonly close: () => Promise<void>;
}

export interface TokenVerifierDeps {
  readonly takeVerifier: TakeVerifier;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * Checks tokens of these issuers: `iss` of a JWT picks the issuer, and a token that is none is shown to the first
 * one. A JWT is shown to no issuer, so that none sees the tokens of another. Throws where keys of the configuration
 * cannot be used.
 */
export const tokenVerifier = (issuers: readonly IssuerSettings[], deps: TokenVerifierDeps): TokenVerifier => {
  const taken = takenFor(issuers, deps.takeVerifier);
  const verifiers = new Set(taken.map(({ value }) => value));
  const byIssuer = new Map([...verifiers].map((each) => [each.settings.issuer, each]));
  const [first] = verifiers;
  return {
    verify: async (token) => {
      const read = readJwt(token);
      if (read.kind === 'refused') return { ...read, isUnchecked: true };
      if (read.kind === 'opaque')
        return first?.introspect
          ? verifiedBy(first, await first.introspect(token))
          : unchecked('opaque', 'opaque tokens are not taken here');
      const { iss } = read.claims;
      const verifier = typeof iss === 'string' ? byIssuer.get(iss) : undefined;
      if (!verifier) return unchecked('wrong_issuer', 'the token is of another issuer');
      const { settings: issuer, keys } = verifier;
      const verdict = await verifyJwt({ token, jwt: read, issuer, findKey: keys.findKey, now: deps.now() });
      return verifiedBy(verifier, verdict);
    },
    uses: (verifier) => verifiers.has(verifier),
    close: () => releaseAll(taken),
  };
};

const takenFor = (issuers: readonly IssuerSettings[], take: TakeVerifier): readonly Taken<IssuerVerifier>[] => {
  const taken: Taken<IssuerVerifier>[] = [];
  try {
    for (const settings of issuers) taken.push(take(settings));
    return taken;
  } catch (error) {
    void releaseAll(taken);
    throw error;
  }
};

const releaseAll = async (taken: readonly Taken<IssuerVerifier>[]): Promise<void> => {
  await Promise.all(taken.map(({ release }) => release()));
};

/** A refusal names the issuer whose settings were applied. */
const verifiedBy = (verifier: IssuerVerifier, verdict: Verdict): Verified =>
  verdict.kind === 'refused' ? { ...verdict, issuer: verifier.settings.issuer } : { ...verdict, verifier };
