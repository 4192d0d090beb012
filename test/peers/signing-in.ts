import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { UnauthorizedError as UnauthorizedV2 } from '@modelcontextprotocol/client';
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import type { Browser } from '../fixtures/browser.ts';
import { freePortPair } from '../fixtures/ports.ts';
import { type ClientEra, ended, type StackName, startForeignLogin } from './foreign.ts';
import { programOf } from './processes.ts';

/** What a client that signs in by itself is given: the address of the server, and nothing about who issues tokens. */
export interface Place {
  readonly url: string;
  /** A folder of its own. */
  readonly home: string;
  readonly browser: Browser;
}

/** A client that has signed in. */
export interface SignedIn {
  /** Names of tools, somewhere in a text. */
  readonly list: () => Promise<string>;
  /** Calls a tool without arguments; its answer, somewhere in a text. */
  readonly call: (name: string) => Promise<string>;
  readonly close: () => Promise<void>;
}

export type SignIn = (place: Place) => Promise<SignedIn>;

/** Nothing listens there: the browser is asked where it was sent. */
const REDIRECT = 'http://127.0.0.1:1/callback';

/** What an application that uses an SDK remembers of its login. */
const application = () => {
  let client: OAuthClientInformationMixed | undefined;
  let tokens: OAuthTokens | undefined;
  let verifier = '';
  const asked: URL[] = [];
  const provider: OAuthClientProvider = {
    redirectUrl: REDIRECT,
    clientMetadata: {
      client_name: 'an application',
      redirect_uris: [REDIRECT],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    } as OAuthClientProvider['clientMetadata'],
    clientInformation: () => client,
    saveClientInformation: (given) => void (client = given),
    tokens: () => tokens,
    saveTokens: (given) => void (tokens = given),
    redirectToAuthorization: (url) => void asked.push(url),
    saveCodeVerifier: (given) => void (verifier = given),
    codeVerifier: () => verifier,
  };
  /** Where the browser was sent by the identity provider. */
  const callback = async ({ browser }: Place): Promise<URLSearchParams> => {
    const url = asked.shift();
    if (!url || asked.length > 0) throw new Error('the client has not asked for exactly one login');
    return (await browser.signIn(url.href)).searchParams;
  };
  return { provider, callback };
};

const clientOf = (client: Client | ClientV2): SignedIn => ({
  list: async () => JSON.stringify(await client.listTools()),
  call: async (name) => JSON.stringify(await client.callTool({ name, arguments: {} })),
  close: () => client.close(),
});

const until401 = async (connecting: Promise<void>): Promise<void> => {
  try {
    await connecting;
  } catch (error) {
    if (error instanceof UnauthorizedError || UnauthorizedV2.isInstance(error)) return;
    throw error;
  }
  throw new Error('nobody has asked for a token');
};

export const withSdkV1 =
  (kind: 'Streamable HTTP' | 'HTTP+SSE'): SignIn =>
  async (place) => {
    const { provider: authProvider, callback } = application();
    const transport = () =>
      kind === 'HTTP+SSE'
        ? new SSEClientTransport(new URL('/sse', place.url), { authProvider })
        : new StreamableHTTPClientTransport(new URL(place.url), { authProvider });
    const newClient = () => new Client({ name: 'v1', version: '1' });
    const refused = transport();
    await until401(newClient().connect(refused));
    await refused.finishAuth((await callback(place)).get('code') ?? '');
    const client = newClient();
    await client.connect(transport());
    return clientOf(client);
  };

export const withSdkV2 =
  (mode: 'legacy' | 'auto'): SignIn =>
  async (place) => {
    const { provider, callback } = application();
    const transport = () => new HttpV2(new URL(place.url), { authProvider: provider as never });
    const newClient = () => new ClientV2({ name: 'v2', version: '1' }, { versionNegotiation: { mode } });
    const refused = transport();
    await until401(newClient().connect(refused));
    await refused.finishAuth(await callback(place));
    const client = newClient();
    await client.connect(transport());
    return clientOf(client);
  };

/** What programs are started with: no desktop whose browser they could open, only the one that does nothing. */
const headless = (home: string): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  HOME: home,
  BROWSER: 'true',
});

/** Signs in at the first address on this stream that is no callback of the program itself. */
const signInAsTold = async (output: Readable, { browser }: Place): Promise<void> => {
  for await (const line of createInterface({ input: output })) {
    const url = /https?:\S+[?&]code_challenge=\S+/.exec(line)?.[0];
    if (url === undefined) continue;
    output.resume();
    const landed = await fetch(await browser.signIn(url));
    if (!landed.ok) throw new Error(`the program does not take what the browser brings: ${await landed.text()}`);
    return;
  }
};

const mcpRemote = programOf('mcp-remote/dist/proxy.js');

export const withMcpRemote =
  (protocol: 'legacy' | 'auto'): SignIn =>
  async (place) => {
    const port = await freePortPair();
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [mcpRemote, place.url, `${port}`, '--allow-http', '--protocol', protocol],
      env: { ...headless(place.home), MCP_REMOTE_CONFIG_DIR: place.home },
      stderr: 'pipe',
    });
    const client = new Client({ name: 'behind mcp-remote', version: '1' });
    const connecting = client.connect(transport, { timeout: 60_000 });
    await Promise.all([connecting, signInAsTold(transport.stderr as Readable, place)]);
    return clientOf(client);
  };

const inspector = programOf('@modelcontextprotocol/inspector/clients/launcher/build/index.js');

/** Each command is a process of its own: the first one signs in, the others find its tokens in their files. */
export const withInspector =
  (era: 'legacy' | 'auto'): SignIn =>
  async (place) => {
    const port = await freePortPair();
    let isSignedIn = false;
    const ask = async (...command: readonly string[]): Promise<string> => {
      const args = ['--cli', '--transport', 'http', '--server-url', place.url, '--protocol-era', era, ...command];
      const login = isSignedIn
        ? ['--stored-auth-only']
        : ['--callback-url', `http://127.0.0.1:${port}/oauth/callback`, '--connect-timeout', '60000'];
      const child = spawn(process.execPath, [inspector, ...args, ...login], {
        env: { ...headless(place.home), MCP_AUTO_OPEN_ENABLED: 'true', MCP_INSPECTOR_SECRET_STORE: 'file' },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const signingIn = isSignedIn ? undefined : signInAsTold(child.stderr, place);
      const said = isSignedIn ? text(child.stderr) : undefined;
      const [answer] = await Promise.all([text(child.stdout), signingIn, ended(child)]);
      isSignedIn = true;
      if (child.exitCode !== 0) throw new Error(`the Inspector has failed: ${answer} ${await said}`);
      return answer;
    };
    return {
      list: () => ask('--method', 'tools/list'),
      call: (name) => ask('--method', 'tools/call', '--tool-name', name),
      close: async () => {},
    };
  };

/**
 * Programs of other languages' SDKs. mcp 2.3 and the Go SDK refresh only what has expired by their own clock; refused
 * before that, they ask for another login, the Go SDK as a client that registers anew.
 */
export const withForeign =
  (name: StackName, era: ClientEra): SignIn =>
  async ({ url, browser }) => {
    const login = await startForeignLogin(name, 'signIn');
    const ask = async (...told: readonly string[]): Promise<string> => {
      const said = await login.ask(...told);
      return said.startsWith('http') ? ask((await browser.signIn(said)).href) : said;
    };
    await ask(url, REDIRECT, era);
    return { list: () => ask('list'), call: (tool) => ask(tool), close: login.leave };
  };
