import type { Provider } from 'oidc-provider';
import { digest } from '../../store/index.ts';

/** 128 bits in base64url. */
const HANDLE_LENGTH = 22;
/** A handle, and at least 256 random bits in base64url. */
const TOKEN = /^[A-Za-z0-9_-]{65,128}$/;

/**
 * What all refresh tokens of a grant begin with. Only who has had one of them knows it, so that a token that is not
 * known for this grant is one that was replaced, however long ago: RFC 9700 §4.14.2 without a record of each.
 */
export const handleOfGrant = (grantId: string): string =>
  digest(`refresh tokens of ${grantId}`).slice(0, HANDLE_LENGTH);

/** Undefined: this server never issued such a refresh token. */
export const handleOfToken = (token: string): string | undefined =>
  TOKEN.test(token) ? token.slice(0, HANDLE_LENGTH) : undefined;

interface Token {
  readonly grantId?: string;
  readonly generateTokenId: () => string;
}

/**
 * Lets the refresh tokens of this provider begin with the handle of their grant. The library makes an id in the method
 * that is replaced here, and has no setting for it; the class belongs to this provider alone.
 */
export const prefixRefreshTokens = (provider: Provider): void => {
  const prototype = provider.RefreshToken.prototype as unknown as Token & { generateTokenId: () => string };
  const random = prototype.generateTokenId;
  prototype.generateTokenId = function prefixed(this: Token): string {
    if (this.grantId === undefined) throw new TypeError('a refresh token without a grant');
    return handleOfGrant(this.grantId) + random.call(this);
  };
};
