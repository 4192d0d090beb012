import { createHmac, timingSafeEqual } from 'node:crypto';

export interface CsrfTokens {
  /** For a form that only this browser may send. `browser` is the secret value of its cookie. */
  readonly issue: (browser: string, form: string) => Promise<string>;
  readonly isValid: (token: string | undefined, browser: string, form: string) => Promise<boolean>;
}

export interface CsrfTokenDeps {
  /** The current secret first, which issues; each verifies. */
  readonly secrets: () => Promise<readonly Buffer[]>;
  /** A form of another issuer is none of this one, also under the same secrets and on the same host. */
  readonly issuer: string;
  /** A key of 32 bytes for one purpose. */
  readonly deriveKey: (secret: Buffer, purpose: string) => Buffer;
}

/**
 * Tokens by which a form proves that it comes from a page of this server, shown in this browser. `form` names what the
 * form is for (an interaction, a user's accounts): a token is good for nothing else.
 */
export const csrfTokens = ({ secrets, issuer, deriveKey }: CsrfTokenDeps): CsrfTokens => {
  const tokenOf = (secret: Buffer, browser: string, form: string): Buffer =>
    createHmac('sha256', deriveKey(secret, 'csrf token'))
      .update(JSON.stringify([issuer, form, browser]))
      .digest();
  return {
    issue: async (browser, form) => {
      const [current] = await secrets();
      if (!current) throw new Error('there is no HMAC secret');
      return tokenOf(current, browser, form).toString('base64url');
    },
    isValid: async (token = '', browser, form) => {
      const given = Buffer.from(token, 'base64url');
      const isOf = (secret: Buffer): boolean => {
        const expected = tokenOf(secret, browser, form);
        return given.length === expected.length && timingSafeEqual(given, expected);
      };
      return (await secrets()).some(isOf);
    },
  };
};
