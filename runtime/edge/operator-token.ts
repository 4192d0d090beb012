import { importJWK, type JWK, jwtVerify } from 'jose';

/** Tokens that `/status` accepts; without keys it is open on loopback only. */
export interface OperatorTokenSettings {
  /** The UID of the resource this process serves. */
  readonly audience: string | undefined;
  /** Public keys (JWK, Ed25519). */
  readonly operatorKeys: readonly JWK[];
}

const MAX_LIFE_SECONDS = 60;
const SKEW_SECONDS = 5;

/**
 * Whether an Authorization header carries a token that an operator has just signed for this very process. Never throws.
 */
export const operatorTokenCheck =
  ({ audience, operatorKeys }: OperatorTokenSettings, { now }: { readonly now: () => number }) =>
  async (authorization: string | undefined): Promise<boolean> => {
    const token = /^Bearer (\S+)$/i.exec(authorization ?? '')?.[1];
    if (token === undefined || audience === undefined) return false;
    const attempts = operatorKeys.map((key) => isSignedBy(key, token, audience, now()));
    return (await Promise.all(attempts)).includes(true);
  };

const isSignedBy = async (jwk: JWK, token: string, audience: string, now: number): Promise<boolean> => {
  try {
    const key = await importJWK(jwk, 'EdDSA');
    const { payload } = await jwtVerify(token, key, {
      algorithms: ['EdDSA'],
      audience,
      requiredClaims: ['exp'],
      clockTolerance: SKEW_SECONDS,
      currentDate: new Date(now),
    });
    return (payload.exp ?? Infinity) <= now / 1000 + MAX_LIFE_SECONDS + SKEW_SECONDS;
  } catch {
    return false;
  }
};
