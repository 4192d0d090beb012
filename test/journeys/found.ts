import type { Client } from '@modelcontextprotocol/sdk/client/index.js';

/** What `find_tool` answers. */
export interface Found {
  readonly tools: readonly { readonly name: string }[];
  readonly search: string;
  readonly degraded?: string;
}

/** Looks for a tool that does what the text says, at a server with the optimizer. */
export const found = async (client: Client, task: string): Promise<Found> => {
  const { structuredContent } = await client.callTool({ name: 'find_tool', arguments: { tool_description: task } });
  return structuredContent as Found;
};
