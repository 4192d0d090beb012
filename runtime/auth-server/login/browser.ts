import { hash } from 'node:crypto';

const SECRET_BYTES = 32;
const ISSUER_CHARACTERS = 8;

/** What ties a login to the browser that began it (RFC 9700 §4.7). */
export interface Browsers {
  /** The secret of the browser; undefined: it shows none. */
  readonly secretIn: (cookieHeader: string | undefined) => string | undefined;
  /** A browser without a secret gets one. */
  readonly known: (cookieHeader: string | undefined) => { readonly secret: string; readonly setCookie?: string };
}

export const browsersAt = (base: string, entropy: (bytes: number) => Buffer): Browsers => {
  const cookie = secretCookie(base, 'vmcp-login');
  return {
    secretIn: cookie.secretIn,
    known: (cookieHeader) => {
      const shown = cookie.secretIn(cookieHeader);
      if (shown !== undefined) return { secret: shown };
      const secret = newSecret(entropy);
      return { secret, setCookie: cookie.setting(secret) };
    },
  };
};

/** A cookie that holds a secret of the browser. */
export interface SecretCookie {
  readonly secretIn: (cookieHeader: string | undefined) => string | undefined;
  /** The value of `Set-Cookie`. */
  readonly setting: (secret: string) => string;
}

/**
 * `__Host-` binds the cookie to this very host over TLS (RFC 6265bis §4.1.3.2); without TLS there is only loopback. The
 * name ends in a hash of `base`, the issuer, as several issuers may share a host.
 */
export const secretCookie = (base: string, plainName: string): SecretCookie => {
  const isSecure = new URL(base).protocol === 'https:';
  const ofIssuer = `${plainName}-${hash('sha256', base, 'hex').slice(0, ISSUER_CHARACTERS)}`;
  const name = isSecure ? `__Host-${ofIssuer}` : ofIssuer;
  return {
    secretIn: (cookieHeader = '') => {
      const found = cookieHeader
        .split(';')
        .map((each) => each.trim())
        .find((each) => each.startsWith(`${name}=`));
      const secret = found?.slice(name.length + 1);
      return secret !== undefined && SECRET.test(secret) ? secret : undefined;
    },
    setting: (secret) => `${name}=${secret}; Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`,
  };
};

export const newSecret = (entropy: (bytes: number) => Buffer): string => entropy(SECRET_BYTES).toString('base64url');

const SECRET = /^[A-Za-z0-9_-]{43}$/;

/** What is kept of a secret. */
export const digestOf = (secret: string): string => hash('sha256', secret, 'base64url');
