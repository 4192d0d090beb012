import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TokenUse, VaultUpstream } from '../../../../runtime/auth-server/vault/vault.ts';
import type { UpstreamTokens } from '../../../../runtime/auth-server/vault/account-record.ts';

/** As the upstreams throw it. */
export class RefreshError extends Error {
  readonly kind: 'refused' | 'unavailable';
  readonly code: string;
  constructor(kind: 'refused' | 'unavailable', code: string) {
    super(`${kind}: ${code}`);
    this.kind = kind;
    this.code = code;
  }
}

/** How a request for tokens is answered in place of the proper way. */
export type Fault =
  /** HTTP 503 before anything has happened. */
  | 'away'
  /** The tokens are rotated, and the answer is lost. */
  | 'lost'
  /** A refusal that says nothing about the user. */
  | 'misconfigured';

interface Family {
  readonly user: string;
  current: string;
  isRevoked: boolean;
}

/**
 * A token endpoint on loopback that rotates refresh tokens, counts, and revokes the whole family when one is used
 * again.
 */
export interface TokenIssuer {
  readonly url: string;
  /** A new sign-in of this user. */
  readonly signIn: (user: string) => UpstreamTokens;
  /** As the vault sees it. */
  readonly upstream: VaultUpstream;
  /** Of each user, successful refreshes. */
  readonly refreshes: Map<string, number>;
  /** Every access and refresh token. */
  readonly issued: string[];
  readonly revoked: string[];
  /** Families that ended because a refresh token was used again. */
  readonly reused: string[];
  /** Requests for tokens. */
  requests: number;
  lifeMs: number | undefined;
  /** Called for each request before anything happens. */
  fault: ((user: string) => Fault | undefined) | undefined;
  /** Called before an answer is sent, which waits for it. */
  beforeAnswer: (() => Promise<void>) | undefined;
  readonly endFamilies: () => void;
  readonly close: () => Promise<void>;
}

export const startTokenIssuer = async (now: () => number): Promise<TokenIssuer> => {
  const families = new Map<string, Family>();
  let serial = 0;
  const issue = (user: string, family: Family | undefined): UpstreamTokens => {
    serial += 1;
    const [accessToken, refreshToken] = [`access-${serial}-of-${user}`, `refresh-${serial}-of-${user}`];
    const its = family ?? { user, current: '', isRevoked: false };
    its.current = refreshToken;
    families.set(refreshToken, its);
    issuer.issued.push(accessToken, refreshToken);
    return { accessToken, refreshToken, ...(issuer.lifeMs !== undefined && { expiresAt: now() + issuer.lifeMs }) };
  };
  const answerTo = async (form: URLSearchParams): Promise<readonly [status: number, body: object]> => {
    issuer.requests += 1;
    const refreshToken = form.get('refresh_token') ?? '';
    const family = families.get(refreshToken);
    const fault = issuer.fault?.(family?.user ?? '');
    if (fault === 'away') return [503, {}];
    if (fault === 'misconfigured') return [401, { error: 'invalid_client' }];
    if (!family || family.isRevoked) return [400, { error: 'invalid_grant' }];
    if (family.current !== refreshToken) {
      family.isRevoked = true;
      issuer.reused.push(refreshToken);
      return [400, { error: 'invalid_grant' }];
    }
    const tokens = issue(family.user, family);
    issuer.refreshes.set(family.user, (issuer.refreshes.get(family.user) ?? 0) + 1);
    await issuer.beforeAnswer?.();
    return fault === 'lost' ? [0, {}] : [200, tokens];
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      void answerTo(new URLSearchParams(Buffer.concat(chunks).toString())).then(([status, body]) =>
        status === 0 ? request.socket.destroy() : response.writeHead(status).end(JSON.stringify(body)),
      );
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`;
  const issuer: TokenIssuer = {
    url,
    signIn: (user) => issue(user, undefined),
    upstream: {
      ...upstreamAt(url),
      revoke: async ({ refreshToken = '' }) => {
        issuer.revoked.push(refreshToken);
        const family = families.get(refreshToken);
        if (family) family.isRevoked = true;
      },
      claimsOf: async ({ accessToken }) => ({ sub: accessToken.split('-of-')[1], of: accessToken }),
    },
    refreshes: new Map(),
    issued: [],
    revoked: [],
    reused: [],
    requests: 0,
    lifeMs: 3_600_000,
    fault: undefined,
    beforeAnswer: undefined,
    endFamilies: () => {
      for (const family of families.values()) family.isRevoked = true;
    },
    close: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
  return issuer;
};

const requestTokens = async (url: string, refreshToken: string): Promise<UpstreamTokens> => {
  const body = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: refreshToken });
  const response = await fetch(url, { method: 'POST', body }).catch(() => undefined);
  if (!response || response.status >= 500) throw new RefreshError('unavailable', 'no answer');
  const answer = (await response.json()) as UpstreamTokens & { error?: string };
  if (answer.error !== undefined) throw new RefreshError('refused', answer.error);
  return answer;
};

/** A provider that refreshes, and does nothing else. */
export const upstreamAt = (url: string): VaultUpstream => ({
  origin: 'origin-1',
  refresh: (refreshToken) => requestTokens(url, refreshToken),
  revoke: async () => {},
  claimsOf: async () => undefined,
});

/** Takes requests and answers none. */
export const startSilentIssuer = async () => {
  const asked = Promise.withResolvers<void>();
  const server = createServer(() => asked.resolve());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`,
    asked: asked.promise,
    close: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
};

/** For the backend `a` of these tests. */
export const USE: TokenUse = { backend: 'a', recipients: ['https://a.example'] };
