/** Programs that a pod of the cluster runs as a client, as ES modules for `node -e`: arguments are on the command line. */

/** URL and file of the token; writes what came of a session, one member for each step. */
export const AGENT = `
import { readFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
const [url, tokenFile, tool] = process.argv.slice(1);
const authorization = 'Bearer ' + readFileSync(tokenFile, 'utf8').trim();
const client = new Client({ name: 'agent', version: '1.0.0' });
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { authorization } } }));
const { tools } = await client.listTools();
const { content } = await client.callTool({ name: tool, arguments: { message: 'from a pod' } });
console.log(JSON.stringify({ names: tools.map(({ name }) => name), content }));
await client.close();
`;

/** URL; writes the status of a request without a token, and the metadata that the answer points to. */
export const NEWCOMER = `
const [url] = process.argv.slice(1);
const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const response = await fetch(url, { method: 'POST', headers, body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' });
const told = response.headers.get('www-authenticate') ?? '';
const [, at] = /resource_metadata="([^"]*)"/.exec(told) ?? [];
const metadata = at === undefined ? undefined : await (await fetch(at)).json();
console.log(JSON.stringify({ status: response.status, metadata }));
`;
