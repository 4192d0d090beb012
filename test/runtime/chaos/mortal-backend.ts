import { hang, startBackend } from '../../fixtures/backend.ts';

/** The program of mortal.ts. Arguments: port, and what becomes of calls. Tells its parent when it listens, and of each call. */
const [port, calls] = process.argv.slice(2);

await startBackend({
  port: Number(port),
  on: ({ recorded }) => {
    if (recorded.method !== 'tools/call') return undefined;
    process.send?.('called');
    return calls === 'hang' ? hang : undefined;
  },
});
process.send?.('listening');
