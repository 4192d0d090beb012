import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { UnauthorizedError as UnauthorizedV2 } from '@modelcontextprotocol/client';
import { type OAuthClientProvider, UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

/**
 * A web application, in a browser: signs in at an MCP server, for which the browser leaves it and comes back, and shows
 * what it sees there. Its query has a `Task`, and after the login what the identity provider says.
 */
export interface Task {
  readonly sdk: 'v1' | 'v2';
  readonly url: string;
  /** Of the application at the identity provider. */
  readonly clientId: string;
}

/** What it shows, as JSON. */
export interface Shown {
  readonly revision: string | undefined;
  readonly tools: readonly string[];
  /** What a tool answers. */
  readonly plain: string;
  /** The same of one that wants an argument repeated in a header, or the error. */
  readonly regional: string;
}

// Of a browser, whose types the tests do without.
declare const location: { readonly origin: string; readonly search: string; readonly assign: (url: string) => void };
declare const document: { readonly body: { textContent: string } };
declare const sessionStorage: {
  readonly getItem: (name: string) => string | null;
  readonly setItem: (name: string, value: string) => void;
};

const query = new URLSearchParams(location.search);
if (query.has('url')) sessionStorage.setItem('task', JSON.stringify(Object.fromEntries(query)));
const task = JSON.parse(sessionStorage.getItem('task') ?? '{}') as Task;
const redirectUrl = `${location.origin}/application`;

/** Outlives the login in the session of the tab. */
const authProvider: OAuthClientProvider = {
  redirectUrl,
  clientMetadata: { redirect_uris: [redirectUrl] },
  clientInformation: () => ({ client_id: task.clientId }),
  tokens: () => JSON.parse(sessionStorage.getItem('tokens') ?? 'null') ?? undefined,
  saveTokens: (tokens) => sessionStorage.setItem('tokens', JSON.stringify(tokens)),
  redirectToAuthorization: (url) => location.assign(url.href),
  saveCodeVerifier: (verifier) => sessionStorage.setItem('verifier', verifier),
  codeVerifier: () => sessionStorage.getItem('verifier') ?? '',
};

const server = new URL(task.url);

const useV1 = async (): Promise<Shown> => {
  const transport = () => new StreamableHTTPClientTransport(server, { authProvider });
  if (query.has('code')) await transport().finishAuth(query.get('code') ?? '');
  const client = new Client({ name: 'v1', version: '1' });
  const connected = transport();
  await client.connect(connected);
  return shownBy(client, connected.protocolVersion);
};

const useV2 = async (): Promise<Shown> => {
  const transport = () => new HttpV2(server, { authProvider: authProvider as never });
  if (query.has('code')) await transport().finishAuth(query);
  const client = new ClientV2({ name: 'v2', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(transport());
  return shownBy(client, client.getNegotiatedProtocolVersion());
};

const shownBy = async (client: Client | ClientV2, revision: string | undefined): Promise<Shown> => {
  const call = async (name: string): Promise<string> =>
    JSON.stringify((await client.callTool({ name, arguments: { region: 'eu' } })).content);
  const { tools } = await client.listTools();
  return {
    revision,
    tools: tools.map(({ name }) => name),
    plain: await call('a_plain'),
    regional: await call('a_regional').catch(String),
  };
};

const show = (text: string): void => void (document.body.textContent = text);

try {
  show(JSON.stringify(await (task.sdk === 'v1' ? useV1() : useV2())));
} catch (error) {
  const isLeaving = error instanceof UnauthorizedError || UnauthorizedV2.isInstance(error);
  if (!isLeaving || query.has('code')) show(`failed: ${String(error)}`);
}
