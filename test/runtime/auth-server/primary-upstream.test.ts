import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Configuration } from 'oidc-provider';
import { resultOf } from '../../fixtures/answers.ts';
import { type AuthServerGateway, startAuthServer } from '../../fixtures/auth-server.ts';
import { noCertificates } from '../../fixtures/certificates.ts';
import { post } from '../../fixtures/raw-client.ts';
import { registerClient, textIn } from '../../fixtures/signing-in.ts';
import { covers } from '../../requirements.ts';

/** Its access tokens are JWTs that name the provider, which its ID tokens do not. */
const withJwts = (provider: string): Configuration => ({
  features: {
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => 'https://api.example',
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope: '',
        audience: 'https://api.example',
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'ES256' } },
      }),
    },
  },
  extraTokenClaims: () => ({ department: `department of ${provider}` }),
});

const toolOf = (provider: string, claim = `department of ${provider}`): string =>
  `permit(principal, action == Action::"call_tool", resource == Tool::"a_${provider}") when { principal has claim_department && principal.claim_department == "${claim}" };`;

const authz = (more: object) => ({
  type: 'cedar',
  policies: [
    toolOf('corp'),
    toolOf('hub'),
    // The token that the client presents says nothing of a department.
    'permit(principal, action == Action::"call_tool", resource == Tool::"a_issued") unless { principal has claim_department };',
  ],
  ...more,
});

suite('claims that policies see', { skip: noCertificates }, () => {
  let gateway: AuthServerGateway;
  before(async () => {
    gateway = await startAuthServer({
      providers: ['corp', 'hub'],
      configuration: withJwts,
      backend: { tools: ['corp', 'hub', 'issued'] },
    });
  });
  after(() => gateway.stop());

  const toolsWith = async (more: object): Promise<readonly string[]> => {
    const { issuer, resource } = gateway;
    const oidc = { issuer, audience: resource, resource, clientId: 'vmcp', insecureAllowHttp: true };
    await gateway.restart({ more: { incomingAuth: { type: 'oidc', oidc, authz: authz(more) } } });
    const token = textIn(await (await registerClient(gateway)).tokens(), 'access_token');
    const list = await post(gateway.running().url, LIST, { ...MODERN, authorization: `Bearer ${token}` });
    return (resultOf(list)['tools'] as readonly { readonly name: string }[]).map(({ name }) => name);
  };

  covers('authz.primary-upstream.claims', 'authz.config.primary-upstream.claims');
  test('are those of the access token of the provider that is named, be it the first one or not', async () => {
    assert.deepEqual(await toolsWith({ primaryUpstreamProvider: 'corp' }), ['a_corp']);
    assert.deepEqual(await toolsWith({ primaryUpstreamProvider: 'hub' }), ['a_hub']);
  });

  test('are those of the token of the client where none is named', async () => {
    assert.deepEqual(await toolsWith({}), ['a_issued']);
  });
});

const MODERN = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };
const _meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};
const LIST = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta } });
