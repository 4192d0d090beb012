import { createHash } from 'node:crypto';
import { Agent, type Dispatcher, request } from 'undici';

/** Where a gateway takes itself to be; it is asked at another port, as behind a proxy. */
export const ISSUER = 'http://127.0.0.1:8080';
export const RESOURCE = `${ISSUER}/mcp`;
export const PROVIDER = 'idp';

const REDIRECT = 'http://127.0.0.1:33418/callback';
const VERIFIER = 'a-verifier-of-at-least-forty-three-characters-0123456789';
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url');

/** Logins at one gateway, of one client that has registered there. */
export interface SignInPlace {
  readonly clientId: string;
  /** From the authorization request to the tokens; resolves with the refresh token. */
  readonly login: (user: number) => Promise<string>;
  readonly close: () => Promise<void>;
}

/** Each user comes from an address of their own: budgets are counted by address. */
export const addressOf = (user: number): string => `10.${(user >> 16) & 255}.${(user >> 8) & 255}.${user & 255 || 1}`;

export const openPlace = async (origin: string, connections: number): Promise<SignInPlace> => {
  const dispatcher = new Agent({ connections, pipelining: 1 });
  const ask = async (path: string, { expected, ...options }: Asked): Promise<Answered> => {
    const { statusCode, headers, body } = await request(`${origin}${path}`, { dispatcher, ...options });
    const text = await body.text();
    if (statusCode !== expected) throw new Error(`${path}: ${statusCode} ${text}`);
    return { headers, text };
  };
  const registered = await ask('/oauth/register', {
    expected: 201,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [REDIRECT], client_name: 'A client of the benchmark' }),
  });
  const { client_id: clientId } = JSON.parse(registered.text) as { readonly client_id: string };
  return {
    clientId,
    login: (user) => login(ask, clientId, user),
    close: () => dispatcher.close(),
  };
};

interface Asked extends Omit<Dispatcher.RequestOptions, 'path' | 'origin' | 'method'> {
  readonly expected: number;
  readonly method?: 'GET' | 'POST';
}

interface Answered {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

type Ask = (path: string, asked: Asked) => Promise<Answered>;

/** The five requests of a browser and its client that a login makes at the gateway. */
const login = async (ask: Ask, clientId: string, user: number): Promise<string> => {
  const from = { 'x-forwarded-for': addressOf(user) };
  const query = new URLSearchParams({
    client_id: clientId,
    response_type: 'code',
    redirect_uri: REDIRECT,
    state: 'a state',
    resource: RESOURCE,
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
  });
  const begun = await ask(`/oauth/authorize?${query.toString()}`, { expected: 303, headers: from });
  const [cookie = ''] = String(begun.headers['set-cookie']).split(';');
  const headers = { ...from, cookie };
  const departed = new URL(String(begun.headers['location'])).searchParams;
  const answer = new URLSearchParams({ code: `user-${user}`, state: departed.get('state') ?? '' });
  const { pathname } = new URL(departed.get('redirect_uri') ?? '');
  const back = await ask(`${pathname}?${answer.toString()}`, { expected: 303, headers });
  const at = new URL(String(back.headers['location']));
  const page = await ask(`${at.pathname}${at.search}`, { expected: 200, headers });
  const csrf = /name="csrf" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const decided = await ask(`${at.pathname}${at.search}`, {
    expected: 200,
    method: 'POST',
    headers: { ...headers, ...form },
    body: new URLSearchParams({ csrf, decision: 'approve' }).toString(),
  });
  const code = /[?&](?:amp;)?code=([\w-]+)/.exec(decided.text)?.[1] ?? '';
  const redeemed = await ask('/oauth/token', {
    expected: 200,
    method: 'POST',
    headers: { ...from, ...form },
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: clientId,
      code,
      redirect_uri: REDIRECT,
      code_verifier: VERIFIER,
    }).toString(),
  });
  return (JSON.parse(redeemed.text) as { readonly refresh_token: string }).refresh_token;
};
