import type { WholeReply } from '../call/index.ts';

/** The answer to a call with this id; `result` is JSON text. */
export const resultReply = (id: Buffer, result: string): WholeReply => ({
  kind: 'whole',
  status: 200,
  body: Buffer.from(`{"jsonrpc":"2.0","id":${id.toString()},"result":${result}}`),
});

/** A failure that a model can read and mend (MCP "Error Handling" of tools). */
export const failedResult = (text: string, meta?: object): string =>
  JSON.stringify({ content: [{ type: 'text', text }], isError: true, ...(meta && { _meta: meta }) });
