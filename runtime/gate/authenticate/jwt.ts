import { errors, jwtVerify, type JWTVerifyGetKey, type JWTVerifyOptions } from 'jose';
import { checkEncoding, checkUniqueNames } from '../../json/index.ts';
import { judgeClaims } from './claims.ts';
import type { IssuerSettings } from './settings.ts';
import { type Claims, CLOCK_TOLERANCE_SECONDS, invalid, type RefusedToken, type Verdict } from './verdict.ts';

/** The parts of a JWT (RFC 7519), read and not verified. */
export interface ReadJwt {
  readonly kind: 'jwt';
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Claims;
}

/**
 * Reads a token. `opaque`: it has not the form of a signed JWT. Refused: it has, and cannot be read in one way only
 * (RFC 7519 §4: claim names are unique).
 */
export const readJwt = (token: string): ReadJwt | { readonly kind: 'opaque' } | RefusedToken => {
  const [first = '', second = '', third, ...more] = token.split('.');
  if (third === undefined || more.length > 0) return OPAQUE;
  const header = objectIn(first);
  if (header === undefined) return OPAQUE;
  const claims = objectIn(second);
  if (header === 'ambiguous' || claims === 'ambiguous' || claims === undefined)
    return invalid('malformed', 'the token is malformed');
  return { kind: 'jwt', header, claims };
};

const OPAQUE = { kind: 'opaque' } as const;

/** The object in one part of a JWT; undefined: there is none. */
const objectIn = (part: string): Claims | 'ambiguous' | undefined => {
  if (!BASE64URL.test(part)) return undefined;
  const bytes = Buffer.from(part, 'base64url');
  try {
    checkEncoding(bytes);
    const value: unknown = JSON.parse(bytes.toString());
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    checkUniqueNames(bytes);
    return value as Claims;
  } catch (error) {
    return error instanceof SyntaxError ? undefined : 'ambiguous';
  }
};

const BASE64URL = /^[A-Za-z0-9_-]+$/;

/**
 * All asymmetric algorithms of JOSE that are current (IANA "JSON Web Signature and Encryption Algorithms"); `none` and
 * HMAC are not among them, whose key would be a shared secret or none (RFC 8725 §2.1).
 */
export const ALGORITHMS: readonly string[] =
  'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519 ML-DSA-44 ML-DSA-65 ML-DSA-87'.split(' ');

/**
 * RFC 9068 §2.1, and tokens that do not say of what kind they are; a media type may lack `application/` (RFC 7515
 * §4.1.9).
 */
const TYPES: ReadonlySet<string> = new Set(['jwt', 'at+jwt']);

const isTypeAllowed = (typ: unknown): boolean =>
  typ === undefined || (typeof typ === 'string' && TYPES.has(typ.toLowerCase().replace(/^application\//, '')));

/** Keys of an issuer, by the header of a token. Throws what jose throws where there is none. */
export type FindKey = JWTVerifyGetKey;

export interface JwtToVerify {
  readonly token: string;
  readonly jwt: ReadJwt;
  readonly issuer: IssuerSettings;
  readonly findKey: FindKey;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Checks signature, issuer, audience, lifetime and kind. References to keys in the header (`jku`, `x5u`, `jwk`, `x5c`)
 * are not looked at: only the keys of the issuer count (RFC 8725 §3.10). Throws where the keys cannot be had.
 */
export const verifyJwt = async ({ token, jwt, issuer, findKey, now }: JwtToVerify): Promise<Verdict> => {
  if (!isTypeAllowed(jwt.header['typ'])) return invalid('wrong_type', 'this is no access token');
  const options: JWTVerifyOptions = {
    algorithms: [...ALGORITHMS],
    issuer: issuer.issuer,
    audience: [...issuer.audiences],
    requiredClaims: ['exp'],
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    currentDate: new Date(now),
  };
  try {
    const { exp = 0 } = await verifiedWithAnyKey(token, findKey, options);
    return judgeClaims(jwt.claims, (exp + CLOCK_TOLERANCE_SECONDS) * 1_000, issuer);
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof TypeError) return refusalFor(error);
    throw error;
  }
};

/** Keys that are tried where a token does not say which one signed it. */
const MAX_TRIED_KEYS = 8;

const verifiedWithAnyKey = async (token: string, findKey: FindKey, options: JWTVerifyOptions) => {
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

const refusalFor = (error: Error): RefusedToken => {
  if (error instanceof errors.JWTExpired) return invalid('expired', 'the token has expired');
  if (error instanceof errors.JWKSNoMatchingKey)
    return {
      ...invalid('unknown_key', 'the token is signed with a key that its issuer does not publish'),
      mayBecomeValid: true,
    };
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim === 'nbf' && error.reason === 'check_failed')
      return { ...invalid('not_yet_valid', 'the token is not valid yet'), mayBecomeValid: true };
    return CLAIM_REFUSALS[error.claim] ?? invalid('wrong_claims', 'a claim of the token is not valid');
  }
  if (error instanceof errors.JWSSignatureVerificationFailed)
    return invalid('wrong_signature', 'the signature of the token is not valid');
  if (error instanceof errors.JOSEAlgNotAllowed)
    return invalid('wrong_signature', 'the token is signed with an algorithm that is not taken');
  return invalid('malformed', 'the token cannot be verified');
};

const CLAIM_REFUSALS: Readonly<Record<string, RefusedToken>> = {
  aud: invalid('wrong_audience', 'the token is for another audience'),
  iss: invalid('wrong_issuer', 'the token is of another issuer'),
  exp: invalid('wrong_claims', 'the token does not say when it expires'),
};
