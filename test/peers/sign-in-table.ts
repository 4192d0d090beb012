import { type ClientEra, missing } from './foreign.ts';
import { type SignIn, withForeign, withInspector, withMcpRemote, withSdkV1, withSdkV2 } from './signing-in.ts';

/** `origin`: the server names itself as `https://host`, of which all its endpoints are a part. */
export type Resource = 'endpoint' | 'origin';

export interface Row {
  readonly signIn: SignIn;
  /** How many sessions two calls of a tool are in. */
  readonly sessions: 0 | 1 | 2;
  readonly at?: Resource;
  /** How often it registers at the identity provider. Default: once. */
  readonly registrations?: 2;
  readonly skip?: string | undefined;
}

/** Why clients of this kind cannot be run here; undefined when they can. */
export const without = {
  'mcp 2.3': await missing('mcp 2.3'),
  'Go SDK 1.8': await missing('Go SDK 1.8'),
  'rmcp 3.9': await missing('rmcp 3.9'),
};

const foreign = (name: keyof typeof without, era: ClientEra) => ({
  signIn: withForeign(name, era),
  skip: without[name],
});
const python = (era: ClientEra) => foreign('mcp 2.3', era);
// Refused, it signs in as a client that registers anew.
const goSdk = (era: ClientEra) => ({ ...foreign('Go SDK 1.8', era), registrations: 2 as const });
const rmcp = (era: ClientEra) => foreign('rmcp 3.9', era);

/** Clients that find out where to sign in from the first refusal, and what they do when their token expires. */
export const clients: Readonly<Record<string, Row>> = {
  'SDK v1, Streamable HTTP': { signIn: withSdkV1('Streamable HTTP'), sessions: 1 },
  'SDK v1, Streamable HTTP, at an origin': { signIn: withSdkV1('Streamable HTTP'), sessions: 1, at: 'origin' },
  'SDK v1, HTTP+SSE, at an origin': { signIn: withSdkV1('HTTP+SSE'), sessions: 1, at: 'origin' },
  'SDK v2, up to 2025-11-25': { signIn: withSdkV2('legacy'), sessions: 1 },
  'SDK v2, whatever the server speaks': { signIn: withSdkV2('auto'), sessions: 0 },
  'SDK v2, whatever the server speaks, at an origin': { signIn: withSdkV2('auto'), sessions: 0, at: 'origin' },
  'mcp 2.3 for Python, up to 2025-11-25': { ...python('legacy'), sessions: 1 },
  'mcp 2.3 for Python, whatever the server speaks': { ...python('auto'), sessions: 0 },
  'Go SDK, up to 2025-11-25': { ...goSdk('legacy'), sessions: 1 },
  'Go SDK, whatever the server speaks': { ...goSdk('auto'), sessions: 0 },
  'Go SDK, whatever the server speaks, at an origin': { ...goSdk('auto'), sessions: 0, at: 'origin' },
  'rmcp, up to 2025-11-25': { ...rmcp('legacy'), sessions: 1 },
  'rmcp, whatever the server speaks': { ...rmcp('auto'), sessions: 0 },
  'rmcp, whatever the server speaks, at an origin': { ...rmcp('auto'), sessions: 0, at: 'origin' },
  'mcp-remote, up to 2025-11-25': { signIn: withMcpRemote('legacy'), sessions: 1 },
  'mcp-remote, whatever the server speaks': { signIn: withMcpRemote('auto'), sessions: 0 },
  'mcp-remote, whatever the server speaks, at an origin': { signIn: withMcpRemote('auto'), sessions: 0, at: 'origin' },
  // Each command is a program of its own.
  'Inspector CLI, up to 2025-11-25': { signIn: withInspector('legacy'), sessions: 2 },
  'Inspector CLI, whatever the server speaks': { signIn: withInspector('auto'), sessions: 0 },
};
