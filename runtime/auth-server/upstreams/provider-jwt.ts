import { decodeJwt, errors, type JWTPayload, jwtVerify, type JWTVerifyGetKey, type JWTVerifyOptions } from 'jose';
import type { Clock } from '../../process/index.ts';
import type { ProviderKeys } from './provider-keys.ts';
import type { ProviderMetadata } from './provider-metadata.ts';
import { type Claims, refused } from './upstream.ts';

/** Asymmetric algorithms only: with others the key would be a shared secret or none (RFC 8725 §2.1). */
const ALGORITHMS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519 ML-DSA-44 ML-DSA-65 ML-DSA-87';
const CLOCK_TOLERANCE_SECONDS = 60;
/** Keys that are tried where a token does not say which one signed it. */
const MAX_TRIED_KEYS = 8;
/** Longer tokens are not looked at. */
const MAX_CHARACTERS = 64 * 1024;

export interface JwtDeps {
  readonly metadata: ProviderMetadata;
  readonly keys: ProviderKeys;
  readonly clock: Pick<Clock, 'now'>;
}

export interface IdTokenToVerify {
  readonly idToken: string;
  readonly clientId: string;
  /** Undefined: one that was refreshed, whose nonce says nothing (OpenID Connect Core §12.2). */
  readonly nonce: string | undefined;
}

/**
 * The claims of an ID token (OpenID Connect Core §3.1.3.7). Throws UpstreamError: `refused` where it is not valid,
 * `unavailable` where the keys cannot be had.
 */
export const verifiedIdToken = async (
  { idToken, clientId, nonce }: IdTokenToVerify,
  deps: JwtDeps,
): Promise<Claims> => {
  const { claims } = await verified(idToken, deps, {
    audience: clientId,
    requiredClaims: ['sub', 'exp', 'iat', ...(nonce === undefined ? [] : ['nonce'])],
  }).catch((error: unknown) => {
    throw isInvalid(error) ? invalidIdToken(whatIsWrong(error)) : error;
  });
  const { sub, nonce: said, aud, azp } = claims;
  if (typeof sub !== 'string' || sub === '') throw invalidIdToken('it has no subject');
  if (nonce !== undefined && said !== nonce) throw invalidIdToken('it is for another sign-in (nonce)');
  const isForSeveral = Array.isArray(aud) && aud.length > 1;
  if ((isForSeveral || azp !== undefined) && azp !== clientId) throw invalidIdToken('it is for another client (azp)');
  return claims;
};

const invalidIdToken = (what: string) => refused('invalid_id_token', `the ID token is not valid: ${what}`);

/**
 * Claims of a token that the provider has issued to whomever: of this issuer, signed with its keys. `not-verifiable`:
 * another issuer's, or no JWT. `expired`: it was one. Throws UpstreamError where the keys cannot be had.
 */
export const issuedClaims = async (token: string, deps: JwtDeps): Promise<Claims | 'not-verifiable' | 'expired'> => {
  try {
    // Of another issuer's token, the key would be looked for in vain, each time anew.
    if (decodeJwt(token).iss !== deps.metadata.issuer) return 'not-verifiable';
    return (await verified(token, deps, {})).claims;
  } catch (error) {
    if (error instanceof errors.JWTExpired) return 'expired';
    if (isInvalid(error)) return 'not-verifiable';
    throw error;
  }
};

/**
 * Claims of an ID token that was verified at the sign-in, whose lifetime and keys may have ended since (OpenID Connect
 * Core §2). Undefined: it is not of this provider and client as they are configured now.
 */
export const signInClaims = (idToken: string, clientId: string, { issuer }: ProviderMetadata): Claims | undefined => {
  try {
    const claims = decodeJwt(idToken);
    return claims.iss === issuer && [claims.aud].flat().includes(clientId) ? claims : undefined;
  } catch (error) {
    if (isInvalid(error)) return undefined;
    throw error;
  }
};

/** jose throws a TypeError for a key that does not fit, and for what is no token at all. */
const isInvalid = (error: unknown): error is Error => error instanceof errors.JOSEError || error instanceof TypeError;

const verified = async (
  token: string,
  { metadata, keys, clock }: JwtDeps,
  more: JWTVerifyOptions,
): Promise<{ readonly claims: Claims & JWTPayload }> => {
  const { jwks_uri: jwksUri, issuer, isIssuerKnown } = metadata;
  if (jwksUri === undefined || !isIssuerKnown) throw new errors.JWKSNoMatchingKey('the provider publishes no keys');
  if (token.length > MAX_CHARACTERS) throw new errors.JWTInvalid('too long');
  const options: JWTVerifyOptions = {
    algorithms: ALGORITHMS.split(' '),
    issuer,
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    currentDate: new Date(clock.now()),
    ...more,
  };
  return { claims: await verifiedWithAnyKey(token, keys.findKey(jwksUri), options) };
};

const verifiedWithAnyKey = async (
  token: string,
  findKey: JWTVerifyGetKey,
  options: JWTVerifyOptions,
): Promise<JWTPayload> => {
  try {
    return (await jwtVerify(token, findKey, options)).payload;
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    let tried = 0;
    for await (const key of error) {
      if ((tried += 1) > MAX_TRIED_KEYS) break;
      try {
        return (await jwtVerify(token, key, options)).payload;
      } catch (failed) {
        if (!(failed instanceof errors.JWSSignatureVerificationFailed)) throw failed;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
};

const CLAIM_MISTAKES: Readonly<Record<string, string>> = {
  iss: 'it is of another issuer',
  aud: 'it is for another client',
  exp: 'it does not say when it expires',
  nonce: 'it has no nonce',
};

/** Texts of jose might repeat something of the token. */
const whatIsWrong = (error: Error): string => {
  if (error instanceof errors.JWTExpired) return 'it has expired';
  if (error instanceof errors.JWTClaimValidationFailed) return CLAIM_MISTAKES[error.claim] ?? 'a claim is not valid';
  if (error instanceof errors.JWKSNoMatchingKey) return 'the provider does not publish the key that signed it';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'the signature is not valid';
  if (error instanceof errors.JOSEAlgNotAllowed) return 'it is signed with an algorithm that is not taken';
  return 'it cannot be read';
};
