import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import { Provider } from 'oidc-provider';

/**
 * The library of the authorization server alone, with what it keeps in memory by default: the floor of a refresh.
 * `/tokens?count=` gives refresh tokens away. Takes the resource and the id of a client; prints its port.
 */
const [, , resource = '', clientId = ''] = process.argv;
const SCOPE = 'openid profile email offline_access';

const { privateKey } = await generateKeyPair('ES256', { extractable: true });
const provider = new Provider('http://127.0.0.1', {
  jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'ES256', use: 'sig', kid: 'a-key' }] },
  scopes: SCOPE.split(' '),
  claims: { openid: ['sub'], profile: ['name'], email: ['email'] },
  conformIdTokenClaims: false,
  clients: [
    {
      client_id: clientId,
      redirect_uris: ['http://127.0.0.1/callback'],
      application_type: 'native',
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      id_token_signed_response_alg: 'ES256',
    },
  ],
  findAccount: (_context, sub) => ({ accountId: sub, claims: async () => ({ sub, name: sub }) }),
  rotateRefreshToken: true,
  expiresWithSession: () => false,
  pkce: { required: () => true },
  ttl: { AccessToken: 3_600, IdToken: 3_600, RefreshToken: 604_800, Grant: 604_800, Session: 60, Interaction: 60 },
  features: {
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope: SCOPE,
        audience: resource,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'ES256' } },
      }),
    },
  },
});

const newToken = async (index: number): Promise<string> => {
  const accountId = `user-${index}`;
  const client = await provider.Client.find(clientId);
  if (!client) throw new Error('no client');
  const grant = new provider.Grant({ accountId, clientId });
  grant.addOIDCScope(SCOPE);
  grant.addResourceScope(resource, SCOPE);
  const grantId = await grant.save();
  const gty = 'authorization_code';
  return new provider.RefreshToken({ client, accountId, grantId, gty, scope: SCOPE, resource }).save();
};

const handle = provider.callback();
const server = createServer((request, response) => {
  const count = /^\/tokens\?count=(\d+)$/.exec(request.url ?? '')?.[1];
  if (count === undefined) return void handle(request, response);
  const tokens = Promise.all(Array.from({ length: Number(count) }, (_, index) => newToken(index)));
  return void tokens.then((all) => response.end(JSON.stringify(all)));
});

server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
