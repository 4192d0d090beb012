import { createHash } from 'node:crypto';
import { CLIENTS, REDIRECT, RESOURCE } from './provider.ts';

const VERIFIER = 'a-verifier-of-at-least-forty-three-characters-0123456789';
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url');
const [FIRST = ''] = CLIENTS;

/** An answer of the token endpoint. */
export interface TokenAnswer {
  readonly status: number;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: Headers;
}

export const refreshTokenOf = ({ body }: TokenAnswer): string => String(body['refresh_token']);

/** As a browser would: every redirect is followed up to the client's own. */
export const authorize = async (
  server: string,
  { user = 'alice', client = FIRST, replicas = [server] }: AuthorizeOptions = {},
): Promise<{ readonly code: string; readonly cookies: ReadonlyMap<string, string> }> => {
  const cookies = new Map<string, string>();
  const query = new URLSearchParams({
    client_id: client,
    response_type: 'code',
    redirect_uri: REDIRECT,
    scope: 'openid offline_access read write',
    prompt: 'consent',
    resource: RESOURCE,
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    state: 'a-state',
    login_hint: user,
  });
  let url = new URL(`${server}/oauth/authorize?${query.toString()}`);
  for (let hop = 0; hop < 12; hop += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get('location');
    if (location === null) throw new Error(`${url.pathname}: ${response.status} ${await response.text()}`);
    if (location.startsWith(REDIRECT)) return { code: codeIn(new URL(location)), cookies };
    const next = new URL(location, url);
    // Each step at another replica, as behind a load balancer.
    url = new URL(next.pathname + next.search, replicas[(hop + 1) % replicas.length]);
  }
  throw new Error('too many redirects');
};

export interface AuthorizeOptions {
  readonly user?: string;
  readonly client?: string;
  readonly replicas?: readonly string[];
}

const codeIn = (url: URL): string => {
  const code = url.searchParams.get('code');
  if (code === null) throw new Error(url.href);
  return code;
};

export const redeem = (
  server: string,
  code: string,
  client: string = FIRST,
  more: Readonly<Record<string, string>> = {},
): Promise<TokenAnswer> =>
  post(`${server}/oauth/token`, {
    grant_type: 'authorization_code',
    client_id: client,
    code,
    redirect_uri: REDIRECT,
    code_verifier: VERIFIER,
    ...more,
  });

export const refresh = (
  server: string,
  refreshToken: string,
  { client = FIRST, ...more }: Readonly<Record<string, string>> = {},
): Promise<TokenAnswer> =>
  post(`${server}/oauth/token`, {
    grant_type: 'refresh_token',
    client_id: client,
    refresh_token: refreshToken,
    ...more,
  });

export const revoke = (
  server: string,
  token: string,
  client: string = FIRST,
  more: Readonly<Record<string, string>> = {},
): Promise<TokenAnswer> => post(`${server}/oauth/revoke`, { client_id: client, token, ...more });

/** From nothing to tokens. */
export const signIn = async (server: string, options: AuthorizeOptions = {}): Promise<TokenAnswer> => {
  const { code } = await authorize(server, options);
  return redeem(server, code, options.client);
};

const post = async (url: string, form: Readonly<Record<string, string>>): Promise<TokenAnswer> => {
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams(form) });
  const text = await response.text();
  return { status: response.status, text, body: jsonOf(text), headers: response.headers };
};

const jsonOf = (text: string): Readonly<Record<string, unknown>> => {
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  } catch {
    return {};
  }
};
