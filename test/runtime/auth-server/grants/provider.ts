import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import { type ClientMetadata, type Configuration, type JWK, Provider } from 'oidc-provider';
import { openGrants } from '../../../../runtime/auth-server/grants/grants.ts';
import { storeReach } from '../../../../runtime/auth-server/grants/reuse-window.ts';
import type { Clock } from '../../../../runtime/process/index.ts';
import type { Store } from '../../../../runtime/store/index.ts';

export const ISSUER = 'http://localhost:8080';
export const RESOURCE = 'http://localhost:8080/mcp';
export const REDIRECT = 'http://127.0.0.1:9/callback';
export const CLIENTS = ['first', 'second'];
/** Clients that prove themselves by `CLIENT_KEY`. */
export const KEYED_CLIENTS = ['keyed', 'other keyed'];

/** The signing key of all replicas. */
export const newKey = async (): Promise<JWK> => {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  return { ...(await exportJWK(privateKey)), alg: 'ES256', use: 'sig', kid: 'a-key' };
};

/** A secret, and another one. */
export const SECRET = Buffer.alloc(32, 'a secret');
export const OTHER_SECRET = Buffer.alloc(32, 'another one');

const KEY = await newKey();
export const CLIENT_KEY = await generateKeyPair('ES256');
const CLIENT_JWKS = {
  keys: [{ ...(await exportJWK(CLIENT_KEY.publicKey)), alg: 'ES256', use: 'sig', kid: 'a-client' }],
};

export interface ReplicaSettings {
  readonly store: Store;
  readonly clock: Clock;
  /** Default: one that all replicas of the process have. */
  readonly secrets?: () => readonly Buffer[];
  /** Default: one that all replicas of the process have. */
  readonly key?: JWK;
  /** Default: any free one. */
  readonly port?: number;
  readonly refreshReuseWindowMs?: number;
  readonly lifespans?: { readonly access?: number; readonly refresh?: number; readonly code?: number };
}

export interface Replica {
  readonly url: string;
  readonly provider: Provider;
  readonly server: Server;
  readonly stop: () => Promise<void>;
}

/** A real provider on a port of loopback; whoever comes is signed in as the `login_hint` says. */
export const startReplica = async (settings: ReplicaSettings): Promise<Replica> => {
  const reach = storeReach(settings);
  const grants = openGrants({
    reach,
    store: settings.store,
    clock: settings.clock,
    secrets: async () => settings.secrets?.() ?? [SECRET],
    boundTo: () => ISSUER,
    findClient: async (id) => {
      if (CLIENTS.includes(id)) return clientOf(id);
      return KEYED_CLIENTS.includes(id) ? { ...clientOf(id), ...BY_KEY } : undefined;
    },
    refreshReuseWindowMs: settings.refreshReuseWindowMs ?? 15_000,
  });
  const provider = new Provider(ISSUER, {
    ...configurationOf(settings),
    adapter: grants.adapter,
    rotateRefreshToken: grants.rotateRefreshToken,
  });
  provider.proxy = true;
  grants.attach(provider);
  const handle = provider.callback();
  const server = createServer((request, response) => {
    const isInteraction = request.url?.startsWith('/interaction/') === true;
    void (isInteraction ? signIn(provider, request, response) : handle(request, response)).catch((error: unknown) => {
      response.statusCode = (error as { status?: number }).status ?? 500;
      response.end(String(error));
    });
  });
  server.listen(settings.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    provider,
    server,
    stop: async () => {
      reach.close();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

const clientOf = (client_id: string): ClientMetadata => ({
  client_id,
  redirect_uris: [REDIRECT],
  application_type: 'native',
  token_endpoint_auth_method: 'none',
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
});

const BY_KEY = { token_endpoint_auth_method: 'private_key_jwt', jwks: CLIENT_JWKS } as const;

const configurationOf = ({ key = KEY, lifespans = {} }: ReplicaSettings): Configuration => ({
  jwks: { keys: [key] },
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  cookies: { keys: ['a key of the tests'] },
  routes: {
    authorization: '/oauth/authorize',
    token: '/oauth/token',
    revocation: '/oauth/revoke',
    jwks: '/.well-known/jwks.json',
  },
  interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
  scopes: ['openid', 'offline_access'],
  findAccount: (_ctx, sub) => ({ accountId: sub, claims: async () => ({ sub }) }),
  pkce: { required: () => true },
  issueRefreshToken: () => true,
  expiresWithSession: () => false,
  ttl: {
    AccessToken: lifespans.access ?? 3_600,
    AuthorizationCode: lifespans.code ?? 600,
    RefreshToken: lifespans.refresh ?? 604_800,
    IdToken: 3_600,
    Interaction: 3_600,
    Session: 3_600,
    Grant: 3_600,
  },
  loadExistingGrant: (ctx) => {
    const grantId = ctx.oidc.result?.consent?.grantId;
    return grantId === undefined ? Promise.resolve(undefined) : ctx.oidc.provider.Grant.find(grantId);
  },
  features: {
    devInteractions: { enabled: false },
    userinfo: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    dPoP: { enabled: false },
    revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => RESOURCE,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope: 'read write',
        audience: RESOURCE,
        accessTokenFormat: 'jwt' as const,
        jwt: { sign: { alg: 'ES256' as const } },
      }),
    },
  },
});

const signIn = async (provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const { params, prompt } = await provider.interactionDetails(request, response);
  const { login_hint: accountId, client_id: clientId } = params as Readonly<Record<string, string>>;
  if (accountId === undefined) throw new Error('nobody signs in');
  if (prompt.name === 'login') {
    await provider.interactionFinished(request, response, { login: { accountId } });
    return;
  }
  const grant = new provider.Grant({ accountId, clientId });
  grant.addOIDCScope('openid offline_access');
  grant.addResourceScope(RESOURCE, 'read write');
  await provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
};
