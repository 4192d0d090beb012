import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CreateMessageRequestSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

/** One client of an SDK, connected. */
export interface SoakClient {
  readonly toolNames: () => Promise<readonly string[]>;
  /** JSON text of the result. */
  readonly call: (name: string, args: Readonly<Record<string, unknown>>) => Promise<string>;
  readonly close: () => Promise<void>;
}

export type Connect = (url: string) => Promise<SoakClient>;

const CAPABILITIES = { elicitation: {}, sampling: {} };
const SAMPLED = { model: 'none', role: 'assistant', content: { type: 'text', text: 'good morning' } } as const;
const ELICITED = { action: 'accept', content: { name: 'Ada', username: 'ada', email: 'ada@example.com' } } as const;

/** 2025-11-25, in a session; answers what it is asked. */
export const connectLegacy: Connect = async (url) => {
  const client = new Client({ name: 'soak', version: '1' }, { capabilities: CAPABILITIES });
  client.setRequestHandler(ElicitRequestSchema, () => ELICITED);
  client.setRequestHandler(CreateMessageRequestSchema, () => SAMPLED);
  const transport = new StreamableHTTPClientTransport(new URL(url));
  await client.connect(transport);
  return {
    toolNames: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args) => JSON.stringify(await client.callTool({ name, arguments: args })),
    close: async () => {
      await transport.terminateSession();
      await client.close();
    },
  };
};

/** 2026-07-28; answers what calls ask for. */
export const connectModern: Connect = async (url) => {
  const client = new ClientV2(
    { name: 'soak', version: '1' },
    { capabilities: CAPABILITIES, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  client.setRequestHandler('elicitation/create', () => ELICITED);
  client.setRequestHandler('sampling/createMessage', () => SAMPLED);
  await client.connect(new HttpV2(new URL(url)));
  return {
    toolNames: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args) => JSON.stringify(await client.callTool({ name, arguments: args })),
    close: () => client.close(),
  };
};
