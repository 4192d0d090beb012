/** Paths of the authorization server, below the path of the issuer (docs/authorization-server.md "Endpoints"). */
export const ENDPOINTS = {
  authorize: '/oauth/authorize',
  /** The browser goes on with its login: to the next identity provider, or to the page of consent. */
  login: '/oauth/login',
  callback: '/oauth/callback',
  consent: '/oauth/consent',
  /** The page of a link that one user got for one sign-in. */
  link: '/oauth/link',
  /** The accounts of the user at identity providers. */
  accounts: '/oauth/accounts',
  token: '/oauth/token',
  register: '/oauth/register',
  revoke: '/oauth/revoke',
  jwks: '/.well-known/jwks.json',
} as const;

/** RFC 8414 §3, OpenID Connect Discovery §4. */
export const METADATA_PATHS = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'] as const;

/** The path of an address without the slash at its end: empty for a bare host. */
export const pathOf = (url: string): string => new URL(url).pathname.replace(/\/$/, '');
