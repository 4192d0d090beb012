/** What the load generator sends. */
export interface Work {
  readonly url: string;
  readonly era: 'legacy' | 'modern';
  /** `both` is `echo` with 100 KB. */
  readonly kind: 'echo' | 'both' | 'large' | 'list';
  /** Before the names of tools: the gateway shows them with that of their backend. */
  readonly prefix: string;
  /** Of a list. */
  readonly cursor?: string;
  /** Further arguments of a call. */
  readonly moreArguments?: Readonly<Record<string, string>> | undefined;
  /** Of the user. */
  readonly token?: string | undefined;
}

const MESSAGES = { echo: 'x'.repeat(1_000), both: 'x'.repeat(100_000), large: undefined };
export const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
export const CLIENT = { name: 'load', version: '1' };

export const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: CLIENT },
});

export const INITIALIZED = '{"jsonrpc":"2.0","method":"notifications/initialized"}';

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': CLIENT,
  'io.modelcontextprotocol/clientCapabilities': {},
};

interface Asked {
  readonly method: string;
  readonly params: object;
  readonly name?: string;
}

const askedBy = ({ kind, prefix, cursor, moreArguments }: Work): Asked => {
  if (kind === 'list') return { method: 'tools/list', params: cursor === undefined ? {} : { cursor } };
  const name = `${prefix}${kind === 'both' ? 'echo' : kind}`;
  return { method: 'tools/call', name, params: { name, arguments: { message: MESSAGES[kind], ...moreArguments } } };
};

export const headersOf = ({ method, name }: Asked, era: Work['era'], session?: string): Record<string, string> => ({
  ...JSON_HEADERS,
  'mcp-protocol-version': era === 'modern' ? '2026-07-28' : '2025-11-25',
  ...(era === 'modern' && { 'mcp-method': method, ...(name !== undefined && { 'mcp-name': name }) }),
  ...(session !== undefined && { 'mcp-session-id': session }),
});

const bodyOf = ({ method, params }: Asked, era: Work['era'], id: number): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params: era === 'modern' ? { ...params, _meta: META } : params });

export const postOf = (work: Work, session?: string) => {
  const asked = askedBy(work);
  const headers = { ...headersOf(asked, work.era, session), ...authorization(work) };
  return { headers, body: bodyOf(asked, work.era, 7) };
};

/** No header for a client without a token. */
export const authorization = ({ token }: Pick<Work, 'token'>): Readonly<Record<string, string>> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` };

/** Whether the newer revision is served there. */
export const servesModern = async (url: string): Promise<boolean> => {
  const asked = { method: 'server/discover', params: {} };
  const response = await fetch(url, {
    method: 'POST',
    headers: headersOf(asked, 'modern'),
    body: bodyOf(asked, 'modern', 1),
  });
  const { result } = (await response.json()) as { result?: { supportedVersions?: readonly string[] } };
  return result?.supportedVersions?.includes('2026-07-28') ?? false;
};

/** A whole HTTP/1.1 request, written by hand so that the generator costs less than what it measures. */
export const wireOf = (work: Work, session?: string): Buffer => {
  const { pathname, host } = new URL(work.url);
  const { headers, body } = postOf(work, session);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const head = [`POST ${pathname} HTTP/1.1`, `host: ${host}`, ...lines, `content-length: ${Buffer.byteLength(body)}`];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
};
