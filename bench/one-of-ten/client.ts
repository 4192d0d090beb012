import { Agent, request } from 'node:http';
import { INITIALIZE, JSON_HEADERS } from '../requests.ts';

const agent = new Agent({ keepAlive: true });

const post = (url: string, body: string, headers: Readonly<Record<string, string>> = {}) =>
  new Promise<{ readonly text: string; readonly session: string }>((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent, headers: { ...JSON_HEADERS, ...headers } }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ text: Buffer.concat(chunks).toString(), session: String(response.headers['mcp-session-id'] ?? '') }),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });

/** A session at the gateway; calls `echo` of a backend, and resolves with the text of the answer. */
export const openClient = async (url: string): Promise<(backend: string) => Promise<string>> => {
  const { session } = await post(url, INITIALIZE);
  const headers = { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' };
  let id = 0;
  return async (backend) => {
    id += 1;
    const params = `{"name":"${backend}_echo","arguments":{}}`;
    return (await post(url, `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`, headers)).text;
  };
};
