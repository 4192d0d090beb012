import { hang, startBackend } from '../../fixtures/backend.ts';

/**
 * The program of mortal.ts. Arguments: port, and what becomes of calls. Tells its parent when it listens, and of each
 * call it executes.
 */
const [port, calls] = process.argv.slice(2);

const backend = await startBackend({
  port: Number(port),
  on: ({ recorded: { method, headers } }) => {
    // A call in a session that it does not know is refused (404), not executed.
    if (method !== 'tools/call' || !backend.sessions.has(String(headers['mcp-session-id']))) return undefined;
    process.send?.('called');
    return calls === 'hang' ? hang : undefined;
  },
});
process.send?.('listening');
