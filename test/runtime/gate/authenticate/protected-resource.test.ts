import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { startProtected } from '../../../fixtures/protected-gateway.ts';
import { configFile, startRuntime } from '../../../fixtures/runtime.ts';
import { covers } from '../../../requirements.ts';

const PATH = '/.well-known/oauth-protected-resource';

const originOf = (url: string): string => new URL(url).origin;

const metadataAt = async (url: string, path: string, headers: Record<string, string> = {}) => {
  const response = await fetch(`${originOf(url)}${path}`, { headers });
  const text = await response.text();
  return { status: response.status, headers: response.headers, json: JSON.parse(text) as Record<string, unknown> };
};

suite('protected-resource metadata', () => {
  covers('incoming-auth.oidc.resource-metadata', 'incoming-auth.resource-url.custom');
  covers('incoming-auth.oauth21-boundary');
  test('is the same at every address that clients form, without a token', async () => {
    const gateway = await startProtected({
      oidc: {
        issuerKeys: { keys: [] },
        resource: 'https://mcp.example/team/mcp',
        scopes: ['a', 'offline_access'],
        advertisedScopes: ['openid', 'offline_access', 'a'],
      },
    });
    const expected = {
      resource: 'https://mcp.example/team/mcp',
      authorization_servers: [gateway.provider.issuer],
      scopes_supported: ['openid', 'a'],
      bearer_methods_supported: ['header'],
      resource_name: 'test',
    };
    for (const suffix of ['', '/', '/mcp', '/mcp/', '/sse', '/sse/', '/team/mcp', '/team/mcp/', '/mcp?x=1']) {
      const { status, json, headers } = await metadataAt(gateway.running.url, `${PATH}${suffix}`);
      assert.equal(status, 200, suffix);
      assert.deepEqual(json, expected, suffix);
      assert.match(headers.get('content-type') ?? '', /^application\/json/);
    }
    for (const suffix of ['/other', '/team', '/mcp/x', '/..%2fmcp'])
      assert.equal((await metadataAt(gateway.running.url, `${PATH}${suffix}`)).status, 404, suffix);
    await gateway.stop();
  });

  test('may be read by web pages of allowed origins, and by no others', async () => {
    const gateway = await startProtected({ oidc: { issuerKeys: { keys: [] }, resource: 'https://mcp.example' } });
    const of = (origin: string) => metadataAt(gateway.running.url, `${PATH}/mcp`, { origin });
    const allowed = await of('https://mcp.example');
    assert.deepEqual(
      [allowed.status, allowed.headers.get('access-control-allow-origin')],
      [200, 'https://mcp.example'],
    );
    // The SDKs name their revision there, which a browser asks about first.
    const preflight = await fetch(`${originOf(gateway.running.url)}${PATH}/mcp`, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://mcp.example',
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'mcp-protocol-version',
      },
    });
    assert.equal(preflight.status, 204);
    assert.match(preflight.headers.get('access-control-allow-methods') ?? '', /GET/);
    assert.match(preflight.headers.get('access-control-allow-headers') ?? '', /mcp-protocol-version/);
    const refused = await of('https://evil.example');
    assert.deepEqual([refused.status, refused.headers.get('access-control-allow-origin')], [403, null]);
    await gateway.stop();
  });

  covers('incoming-auth.oidc.resource-default-audience');
  test('without a resource, the audience is the resource', async () => {
    const gateway = await startProtected({ oidc: { issuerKeys: { keys: [] } } });
    const { json } = await metadataAt(gateway.running.url, PATH);
    assert.equal(json['resource'], 'https://mcp.example');
    await gateway.stop();
  });

  const CANONICAL: readonly (readonly [string, string, string])[] = [
    ['https://MCP.Example/', 'https://mcp.example', `https://mcp.example${PATH}`],
    ['https://mcp.example:443/mcp', 'https://mcp.example/mcp', `https://mcp.example${PATH}/mcp`],
    ['https://mcp.example/mcp/', 'https://mcp.example/mcp/', `https://mcp.example${PATH}/mcp`],
    ['http://127.0.0.1:4483', 'http://127.0.0.1:4483', `http://127.0.0.1:4483${PATH}`],
  ];
  /** Clients send what their URL library makes of the `resource` that they are told. */
  const SAME_AUDIENCE: readonly (readonly [string, string | readonly string[]])[] = [
    ['https://mcp.example', 'https://mcp.example/'],
    ['https://mcp.example/', 'https://mcp.example'],
    ['https://mcp.example', ['other', 'https://mcp.example/']],
    ['https://MCP.example:443/mcp', 'https://mcp.example/mcp'],
    ['https://MCP.example:443/mcp', 'https://MCP.example:443/mcp'],
  ];
  const OTHER_AUDIENCE: readonly (readonly [string, string | readonly string[]])[] = [
    ['https://mcp.example/mcp', 'https://mcp.example/mcp/'],
    ['https://mcp.example/mcp', 'https://mcp.example/MCP'],
    ['https://mcp.example/mcp', 'https://mcp.example'],
    ['https://mcp.example', 'http://mcp.example'],
    ['https://mcp.example', 'https://mcp.example:8443/'],
    ['https://mcp.example', 'mcp.example'],
    ['https://user@mcp.example', 'https://mcp.example'],
    ['https://mcp.example/#a', 'https://mcp.example'],
    ['api', 'API'],
    ['api', 'api/'],
  ];
  covers('incoming-auth.oidc.resource-www-authenticate');
  test('names the resource in its canonical form, and the challenge names the address of the metadata', async () => {
    for (const [resource, canonical, url] of CANONICAL) {
      const gateway = await startProtected({ oidc: { issuerKeys: { keys: [] }, resource } });
      assert.equal((await metadataAt(gateway.running.url, PATH)).json['resource'], canonical);
      const { headers } = await gateway.enter(undefined);
      assert.equal(headers.get('www-authenticate'), `Bearer resource_metadata="${url}"`);
      await gateway.stop();
    }
  });

  test('a token may name the resource in any form that is the same URL, and in no other', async () => {
    const gateway = await startProtected();
    const { provider } = gateway;
    const statusFor = async (audience: string, aud: unknown): Promise<number> => {
      gateway.running.reload(gateway.file({ issuerKeys: { keys: [provider.key().publicJwk] }, audience }));
      return (await gateway.enter(await provider.token({ aud }))).status;
    };
    for (const [audience, aud] of SAME_AUDIENCE)
      assert.equal(await statusFor(audience, aud), 200, `${audience} ${String(aud)}`);
    for (const [audience, aud] of OTHER_AUDIENCE)
      assert.equal(await statusFor(audience, aud), 401, `${audience} ${String(aud)}`);
    await gateway.stop();
  });

  test('where the audience is no URL, the metadata is at the host that the client asked', async () => {
    const gateway = await startProtected({ oidc: { issuerKeys: { keys: [] }, audience: 'my-api' } });
    const { headers } = await gateway.enter(undefined);
    const url = `${originOf(gateway.running.url)}${PATH}/mcp`;
    assert.equal(headers.get('www-authenticate'), `Bearer resource_metadata="${url}"`);
    assert.equal((await metadataAt(url, `${PATH}/mcp`)).json['resource'], 'my-api');
    await gateway.stop();
  });

  test('behind a proxy that ends TLS, the challenge names https: by the resource, or as a trusted proxy tells', async () => {
    const more = { extensions: { trustedProxies: ['127.0.0.1'], allowedHosts: ['mcp.example.com'] } };
    const challengeOf = async (oidc: object, settings: object, headers: Record<string, string>) => {
      const gateway = await startProtected({ oidc: { issuerKeys: { keys: [] }, ...oidc }, more: settings });
      const answer = await gateway.enter(undefined, headers);
      const address = originOf(gateway.running.url);
      await gateway.stop();
      return [answer.status, answer.headers.get('www-authenticate')?.replace(address, '<address>')];
    };
    const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'mcp.example.com' };
    const named = { audience: 'my-api' };
    const url = (origin: string) => `Bearer resource_metadata="${origin}${PATH}/mcp"`;
    const resource = { ...named, resource: 'https://public.example/mcp' };
    assert.deepEqual(await challengeOf(resource, {}, {}), [401, url('https://public.example')]);
    assert.deepEqual(await challengeOf(resource, more, forwarded), [401, url('https://public.example')]);
    assert.deepEqual(await challengeOf(named, more, forwarded), [401, url('https://mcp.example.com')]);
    assert.deepEqual(await challengeOf(named, {}, forwarded), [401, url('<address>')], 'no proxy is trusted');
    assert.equal((await challengeOf(named, more, { ...forwarded, 'x-forwarded-host': 'evil.example' }))[0], 403);
  });

  covers('incoming-auth.config.type-anonymous', 'incoming-auth.anonymous', 'incoming-auth.config.oidc-only-for-oidc');
  test('there is none where everybody may connect, and no token is looked at, whatever oidc says', async () => {
    const oidc = { issuer: 'https://idp.example', audience: 'x', clientId: 'x' };
    const running = await startRuntime(configFile({}, { incomingAuth: { type: 'anonymous', oidc } }));
    assert.equal((await metadataAt(running.url, PATH)).status, 404);
    const response = await fetch(running.url, { method: 'DELETE', headers: { authorization: 'Bearer junk' } });
    assert.equal(response.status, 400);
    await running.stop();
  });

  test('follows the configuration', async () => {
    const gateway = await startProtected({ oidc: { issuerKeys: { keys: [] }, resource: 'https://a.example' } });
    gateway.running.reload(gateway.file({ issuerKeys: { keys: [] }, resource: 'https://b.example/x' }));
    const { json } = await metadataAt(gateway.running.url, `${PATH}/x`);
    assert.equal(json['resource'], 'https://b.example/x');
    await gateway.stop();
  });
});

suite('the challenge', () => {
  covers('incoming-auth.scopes.advertised');
  test('asks for the advertised scopes, and says no error where no token was sent', async () => {
    const gateway = await startProtected({
      oidc: {
        issuerKeys: { keys: [] },
        resource: 'https://mcp.example',
        advertisedScopes: ['openid', 'mcp', 'offline_access'],
      },
    });
    for (const headers of [{}, { authorization: 'Basic dXNlcjpwYXNz' }, { authorization: 'Bearertoken' }]) {
      const answer = await gateway.enter(undefined, headers);
      assert.equal(answer.status, 401);
      assert.equal(
        answer.headers.get('www-authenticate'),
        `Bearer scope="openid mcp", resource_metadata="https://mcp.example${PATH}"`,
      );
    }
    await gateway.stop();
  });

  test('asks for the required scopes where there are some', async () => {
    const gateway = await startProtected({
      oidc: {
        issuerKeys: { keys: [] },
        resource: 'https://mcp.example',
        advertisedScopes: ['openid'],
        scopes: ['need', 'both'],
      },
    });
    assert.match((await gateway.enter(undefined)).headers.get('www-authenticate') ?? '', /scope="need both"/);
    await gateway.stop();
  });

  test('is the same for GET, DELETE and HTTP+SSE', async () => {
    const gateway = await startProtected();
    const origin = originOf(gateway.running.url);
    for (const [method, path] of [
      ['GET', '/mcp'],
      ['DELETE', '/mcp'],
      ['GET', '/sse'],
      ['POST', '/messages'],
      ['POST', '/'],
    ] as const) {
      const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
      const response = await fetch(`${origin}${path}`, { method, headers });
      assert.equal(response.status, 401, `${method} ${path}`);
      assert.match(response.headers.get('www-authenticate') ?? '', /^Bearer resource_metadata="/);
    }
    await gateway.stop();
  });
});
