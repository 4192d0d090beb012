import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { OAuthClientInformationFullSchema } from '@modelcontextprotocol/sdk/shared/auth.js';
import type { GuardedFetch } from '../../../../runtime/http/guarded-fetch.ts';
import { startAuthorizationEndpoint } from '../../../fixtures/authorization-endpoint.ts';
import { publishedBy, startClients, SUPPORTED } from '../../../fixtures/oauth-clients.ts';

/** What MCP clients register, as they were seen to (2026), and the redirect URIs that they then use. */
interface KnownClient {
  readonly name: string;
  readonly registers: object;
  readonly uses: readonly string[];
  /** The scope of its authorization request; default: none. */
  readonly asksFor?: string;
}

const both = ['authorization_code', 'refresh_token'];
const native = { application_type: 'native', token_endpoint_auth_method: 'none', grant_types: both };

const REGISTERING: readonly KnownClient[] = [
  {
    name: 'Claude (web, desktop, mobile)',
    registers: {
      client_name: 'Claude',
      redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
      grant_types: both,
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      scope: 'openid',
    },
    uses: ['https://claude.ai/api/mcp/auth_callback'],
    asksFor: 'openid',
  },
  {
    name: 'Claude, at its other address',
    registers: {
      client_name: 'Claude',
      redirect_uris: ['https://claude.com/api/mcp/auth_callback'],
      token_endpoint_auth_method: 'client_secret_post',
    },
    uses: ['https://claude.com/api/mcp/auth_callback'],
  },
  {
    name: 'Claude Code, whose port is another one each time',
    registers: { ...native, client_name: 'Claude Code (tools)', redirect_uris: ['http://localhost:3118/callback'] },
    uses: ['http://localhost:3118/callback', 'http://localhost:61234/callback'],
  },
  {
    name: 'VS Code, which asks for every scope',
    registers: {
      client_name: 'Visual Studio Code',
      client_uri: 'https://code.visualstudio.com',
      grant_types: [...both, 'urn:ietf:params:oauth:grant-type:device_code'],
      response_types: ['code'],
      redirect_uris: [
        'https://insiders.vscode.dev/redirect',
        'https://vscode.dev/redirect',
        'http://127.0.0.1/',
        'http://127.0.0.1:33418/',
      ],
      scope: [...SUPPORTED, 'of-another-server'].join(' '),
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    },
    uses: [
      'https://vscode.dev/redirect',
      'https://insiders.vscode.dev/redirect',
      'http://127.0.0.1:33418/',
      'http://127.0.0.1:50507/',
    ],
    asksFor: SUPPORTED.join(' '),
  },
  {
    name: 'Cursor, with three redirect URIs of three kinds as a web application',
    registers: {
      client_name: 'Cursor',
      application_type: 'web',
      token_endpoint_auth_method: 'none',
      grant_types: both,
      response_types: ['code'],
      redirect_uris: [
        'cursor://anysphere.cursor-mcp/oauth/callback',
        'https://www.cursor.com/agents/mcp/oauth/callback',
        'http://localhost:8787/callback',
      ],
    },
    uses: [
      'cursor://anysphere.cursor-mcp/oauth/callback',
      'https://www.cursor.com/agents/mcp/oauth/callback',
      'http://localhost:8787/callback',
    ],
  },
  {
    name: 'ChatGPT',
    registers: {
      client_name: 'ChatGPT',
      redirect_uris: ['https://chatgpt.com/connector_platform_oauth_redirect'],
      grant_types: both,
      response_types: ['code'],
      token_endpoint_auth_method: 'client_secret_basic',
    },
    uses: ['https://chatgpt.com/connector_platform_oauth_redirect'],
    asksFor: 'openid email',
  },
  {
    name: 'ChatGPT, with a callback of each connector',
    registers: {
      client_name: 'ChatGPT',
      redirect_uris: ['https://chatgpt.com/connector/oauth/UbkDjQHMmZBh'],
      token_endpoint_auth_method: 'none',
    },
    uses: ['https://chatgpt.com/connector/oauth/UbkDjQHMmZBh'],
  },
  {
    name: 'Codex',
    registers: {
      client_name: 'Codex',
      redirect_uris: ['http://127.0.0.1:49662/callback/c0FvYmlq'],
      grant_types: both,
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    uses: ['http://127.0.0.1:49662/callback/c0FvYmlq'],
  },
  {
    name: 'GitHub Copilot CLI, which omits scope',
    registers: {
      client_name: 'GitHub Copilot CLI',
      redirect_uris: ['http://127.0.0.1:38211/'],
      token_endpoint_auth_method: 'none',
      grant_types: both,
    },
    uses: ['http://127.0.0.1:38211/', 'http://127.0.0.1:38999/'],
    asksFor: 'openid files.read',
  },
  {
    name: 'MCP Inspector',
    registers: {
      ...native,
      client_name: 'MCP Inspector',
      client_uri: 'https://github.com/modelcontextprotocol/inspector',
      redirect_uris: ['http://127.0.0.1:6276/oauth/callback'],
      scope: 'openid',
    },
    uses: ['http://127.0.0.1:6276/oauth/callback'],
    asksFor: 'openid',
  },
  {
    name: 'MCP Inspector in a browser',
    registers: {
      client_name: 'MCP Inspector',
      redirect_uris: ['http://localhost:6274/oauth/callback', 'http://localhost:6274/oauth/callback/debug'],
      token_endpoint_auth_method: 'none',
    },
    uses: ['http://localhost:6274/oauth/callback/debug'],
  },
  {
    name: 'mcp-remote',
    registers: {
      ...native,
      client_name: 'MCP CLI Proxy',
      software_id: '2e6dc280-f3c3-4e01-99a7-8181dbd1d23d',
      software_version: '0.15.1',
      redirect_uris: ['http://localhost:22227/oauth/callback'],
    },
    uses: ['http://localhost:22227/oauth/callback'],
  },
  {
    name: 'Gemini CLI and Qwen Code',
    registers: {
      client_name: 'Gemini CLI MCP Client',
      redirect_uris: ['http://localhost:7777/oauth/callback'],
      grant_types: both,
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      scope: '',
    },
    uses: ['http://localhost:7777/oauth/callback', 'http://localhost:40123/oauth/callback'],
  },
  {
    name: 'Windsurf, and other forks of VS Code with a scheme of their own',
    registers: {
      client_name: 'Windsurf',
      redirect_uris: ['windsurf://codeium.windsurf/oauth/callback'],
      token_endpoint_auth_method: 'none',
    },
    uses: ['windsurf://codeium.windsurf/oauth/callback'],
  },
  {
    name: 'Cline',
    registers: {
      client_name: 'Cline',
      redirect_uris: ['vscode://saoudrizwan.claude-dev/mcp-auth/callback/c9'],
      token_endpoint_auth_method: 'none',
    },
    uses: ['vscode://saoudrizwan.claude-dev/mcp-auth/callback/c9'],
  },
  {
    name: 'Warp',
    registers: {
      client_name: 'Warp',
      redirect_uris: ['warp://mcp/oauth2callback'],
      token_endpoint_auth_method: 'none',
      grant_types: both,
    },
    uses: ['warp://mcp/oauth2callback'],
  },
  {
    name: 'Raycast',
    registers: {
      client_name: 'Raycast',
      redirect_uris: [
        'https://raycast.com/redirect?packageName=Extension',
        'com.raycast:/oauth?package_name=Extension',
      ],
      token_endpoint_auth_method: 'none',
    },
    uses: ['https://raycast.com/redirect?packageName=Extension', 'com.raycast:/oauth?package_name=Extension'],
  },
  {
    name: 'Zed and the IDEs of JetBrains, on loopback',
    registers: {
      client_name: 'Zed',
      redirect_uris: ['http://127.0.0.1:27523/callback'],
      token_endpoint_auth_method: 'none',
      grant_types: both,
      response_types: ['code'],
    },
    uses: ['http://127.0.0.1:27523/callback', 'http://127.0.0.1:61001/callback'],
  },
  {
    name: 'Open WebUI on a host of its own, which takes no client_secret_basic',
    registers: {
      client_name: 'Open WebUI',
      redirect_uris: ['https://ai.example.org/oauth/clients/mcp:tools/callback'],
      token_endpoint_auth_method: 'client_secret_post',
      grant_types: both,
    },
    uses: ['https://ai.example.org/oauth/clients/mcp:tools/callback'],
  },
  {
    name: 'one on the IPv6 loopback',
    registers: { redirect_uris: ['http://[::1]:8000/cb'] },
    uses: ['http://[::1]:8000/cb', 'http://[::1]:9000/cb', 'http://[::1]/cb'],
  },
];

/** Metadata documents as they were published. */
const PUBLISHED: readonly (KnownClient & { readonly at: string })[] = [
  {
    name: 'Claude',
    at: 'https://claude.ai/oauth/mcp-oauth-client-metadata',
    registers: {
      client_name: 'Claude',
      redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
      token_endpoint_auth_method: 'none',
    },
    uses: ['https://claude.ai/api/mcp/auth_callback'],
  },
  {
    name: 'Claude Code, with loopback without a port',
    at: 'https://claude.ai/oauth/claude-code-client-metadata',
    registers: {
      client_name: 'Claude Code',
      redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
      token_endpoint_auth_method: 'none',
    },
    uses: ['http://localhost:3118/callback', 'http://127.0.0.1:54545/callback'],
  },
  {
    name: 'VS Code',
    at: 'https://vscode.dev/oauth/client-metadata.json',
    registers: {
      client_name: 'Visual Studio Code',
      client_uri: 'https://vscode.dev/product',
      grant_types: [...both, 'urn:ietf:params:oauth:grant-type:device_code'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
      redirect_uris: ['http://127.0.0.1:33418/', 'https://vscode.dev/redirect'],
    },
    uses: ['http://127.0.0.1:33418/', 'http://127.0.0.1:51111/', 'https://vscode.dev/redirect'],
  },
  {
    name: 'Codex',
    at: 'https://chatgpt.com/oauth/codex/client.json',
    registers: {
      client_name: 'Codex',
      redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
      token_endpoint_auth_method: 'none',
    },
    uses: ['http://127.0.0.1:40001/callback', 'http://localhost:40001/callback'],
  },
  {
    name: 'Zed',
    at: 'https://zed.dev/oauth/client-metadata.json',
    registers: { client_name: 'Zed', redirect_uris: ['http://127.0.0.1/callback'], token_endpoint_auth_method: 'none' },
    uses: ['http://127.0.0.1:27523/callback'],
  },
  {
    name: 'opencode',
    at: 'https://opencode.ai/oauth/opencode/client.json',
    registers: {
      ...native,
      client_name: 'opencode',
      redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
      token_endpoint_auth_methods_supported: ['none'],
    },
    uses: ['http://localhost:19876/callback'],
  },
  {
    name: 'Gemini Spark, whose answers go to another site',
    at: 'https://accountlinking.google.com/clientidmetadata/user_bound_provider/user_bound_custom-mcp-1-tools',
    registers: {
      client_name: 'Gemini',
      redirect_uris: ['https://oauth-redirect.googleusercontent.com/r/user_bound_custom-mcp-1-tools'],
      token_endpoint_auth_method: 'none',
    },
    uses: ['https://oauth-redirect.googleusercontent.com/r/user_bound_custom-mcp-1-tools'],
  },
  {
    name: 'MCPJam, with all its addresses',
    at: 'https://www.mcpjam.com/.well-known/oauth/client-metadata.json',
    registers: {
      client_name: 'MCPJam',
      redirect_uris: [
        'mcpjam://oauth/callback',
        'https://app.mcpjam.com/oauth/callback',
        'http://localhost:6274/oauth/callback',
      ],
      token_endpoint_auth_method: 'none',
    },
    uses: ['mcpjam://oauth/callback', 'https://app.mcpjam.com/oauth/callback', 'http://localhost:9/oauth/callback'],
  },
];

const elsewhere = (uri: string): readonly string[] => [
  `${uri}x`,
  `${uri}/../x`,
  'https://evil.example/callback',
  'http://evil.example/callback',
  'http://localhost.evil.example/callback',
  'http://localhost:3118@evil.example/callback',
  'http://127.0.0.1:1/other',
];

describe('a client that registers', () => {
  for (const { name, registers, uses, asksFor } of REGISTERING) {
    test(`like ${name} may use its redirect URIs and no others`, async () => {
      const clients = startClients();
      const client = await clients.registered(registers);
      assert.equal(client.status, 201, JSON.stringify(client));
      OAuthClientInformationFullSchema.parse(client);
      const endpoint = await startAuthorizationEndpoint(clients.findClient);
      try {
        const scope = asksFor === undefined ? {} : { scope: asksFor };
        for (const redirect_uri of uses) {
          const { outcome, error } = await endpoint.authorize({ client_id: client.client_id, redirect_uri, ...scope });
          assert.equal(outcome, 'asked', `${redirect_uri}: ${error}`);
        }
        for (const redirect_uri of elsewhere(uses[0] ?? '')) {
          const refused = await endpoint.authorize({ client_id: client.client_id, redirect_uri });
          assert.equal(refused.outcome, 'refused', redirect_uri);
          assert.equal(refused.sentTo, undefined, redirect_uri);
        }
      } finally {
        await endpoint.close();
      }
    });
  }
});

const publishes =
  (at: string, document: object): GuardedFetch =>
  async ({ url }) => {
    assert.equal(url, at);
    return {
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify({ client_id: at, ...document })),
    };
  };

describe('a client with a metadata document', () => {
  for (const { name, at, registers, uses } of PUBLISHED) {
    test(`like that of ${name} may use its redirect URIs and no others`, async () => {
      const clients = startClients({ findPublished: publishedBy(publishes(at, registers)) });
      const endpoint = await startAuthorizationEndpoint(clients.findClient);
      try {
        for (const redirect_uri of uses) {
          const { outcome, error } = await endpoint.authorize({ client_id: at, redirect_uri, scope: 'openid' });
          assert.equal(outcome, 'asked', `${redirect_uri}: ${error}`);
        }
        for (const redirect_uri of elsewhere(uses[0] ?? '')) {
          const refused = await endpoint.authorize({ client_id: at, redirect_uri });
          assert.equal(refused.outcome, 'refused', redirect_uri);
          assert.equal(refused.sentTo, undefined, redirect_uri);
        }
      } finally {
        await endpoint.close();
      }
    });
  }
});
