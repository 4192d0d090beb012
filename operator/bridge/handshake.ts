import type { Envelope } from '../../runtime/edge/index.ts';
import { LATEST_LEGACY_REVISION, LEGACY_REVISIONS } from '../../runtime/mcp/index.ts';
import { requestOf } from './messages.ts';

/** The server's result of `initialize`, as its clients get it. */
export type InitializeResult = Readonly<Record<string, unknown>>;

/** What `initialize` of a client is answered with: what the server said, in the client's revision. */
export const initializeResultFor = (greeting: InitializeResult, asked: string): InitializeResult => {
  const revision = LEGACY_REVISIONS.find((known) => known === asked) ?? LATEST_LEGACY_REVISION;
  return { ...greeting, protocolVersion: revision };
};

/**
 * The server is initialized once for all its clients. What only some of them can do is declared all the same, and
 * refused for the others when it comes to that. Roots are not: those of one client would decide what the server touches
 * for all.
 */
export const initializeRequest = (version: string): Envelope =>
  requestOf('initialize', {
    protocolVersion: LATEST_LEGACY_REVISION,
    capabilities: { sampling: {}, elicitation: { form: {}, url: {} } },
    clientInfo: { name: 'vmcp-bridge', version },
  });

/** Throws with what is wrong with the answer. */
export const parseInitializeResult = ({ body, result, error }: Envelope): InitializeResult => {
  if (error) throw new Error(`the server refuses initialize: ${body.toString('utf8', error.start, error.end)}`);
  const greeting: unknown = result && JSON.parse(body.toString('utf8', result.start, result.end));
  if (typeof greeting !== 'object' || greeting === null)
    throw new Error('the server answers initialize with no object');
  const { protocolVersion, capabilities } = greeting as { protocolVersion?: unknown; capabilities?: unknown };
  if (!LEGACY_REVISIONS.some((known) => known === protocolVersion))
    throw new Error(`the server speaks revision ${String(protocolVersion)}; known are ${LEGACY_REVISIONS.join(', ')}`);
  return { ...greeting, capabilities: withoutTasks(capabilities) };
};

/** The tasks of 2025-11-25 belong to a connection: each client would see and could cancel those of the others. */
const withoutTasks = (capabilities: unknown): object => {
  if (typeof capabilities !== 'object' || capabilities === null) return {};
  return Object.fromEntries(Object.entries(capabilities).filter(([name]) => name !== 'tasks'));
};
