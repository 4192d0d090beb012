import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type OAuthClientProvider, UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { startAuthServer } from '../../fixtures/auth-server.ts';
import { noCertificates } from '../../fixtures/certificates.ts';

const skip = noCertificates;
const REDIRECT = 'http://127.0.0.1:33418/callback';

/** What a client of the MCP SDK keeps. */
class Keeping implements OAuthClientProvider {
  readonly redirectUrl = REDIRECT;
  readonly clientMetadata = {
    redirect_uris: [REDIRECT],
    client_name: 'A client of the SDK',
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'none',
  };
  #client: ReturnType<OAuthClientProvider['clientInformation']>;
  #tokens: Awaited<ReturnType<OAuthClientProvider['tokens']>>;
  #verifier = '';
  authorizationUrl: URL | undefined;
  clientInformation() {
    return this.#client;
  }
  saveClientInformation(client: NonNullable<Awaited<ReturnType<OAuthClientProvider['clientInformation']>>>) {
    this.#client = client;
  }
  tokens() {
    return this.#tokens;
  }
  saveTokens(tokens: Parameters<OAuthClientProvider['saveTokens']>[0]) {
    this.#tokens = tokens;
  }
  redirectToAuthorization(url: URL) {
    this.authorizationUrl = url;
  }
  saveCodeVerifier(verifier: string) {
    this.#verifier = verifier;
  }
  codeVerifier() {
    return this.#verifier;
  }
}

test('a client of the SDK gets from the 401 to a tool, and its user signs in on the way', { skip }, async (t) => {
  const gateway = await startAuthServer();
  t.after(gateway.stop);
  const url = new URL(gateway.running().url);
  const provider = new Keeping();
  const transport = new StreamableHTTPClientTransport(url, { authProvider: provider });
  await assert.rejects(new Client({ name: 'test', version: '1' }).connect(transport), UnauthorizedError);
  assert.ok(provider.authorizationUrl);

  const browser = gateway.browser();
  const page = await browser.open(provider.authorizationUrl);
  assert.equal(page.status, 200, page.text);
  const back = await browser.press(page, 'approve', { stopAt: ({ href }) => href.startsWith(REDIRECT) });
  assert.equal(back.url.searchParams.get('iss'), gateway.issuer);
  await transport.finishAuth(back.url.searchParams.get('code') ?? '');

  const client = new Client({ name: 'test', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(url, { authProvider: provider }));
  t.after(() => client.close());
  const { tools } = await client.listTools();
  assert.ok(tools.length > 0);
  const token = provider.tokens()?.access_token ?? '';
  const claims = decodeJwt(token);
  assert.equal(claims.iss, gateway.issuer);
  assert.equal(claims.sub, 'corp|alice');
  assert.equal(claims.aud, `${new URL(gateway.issuer).origin}/mcp`);
  assert.equal(decodeProtectedHeader(token).typ, 'at+jwt');
});
