import { smallMember } from './json-members.ts';

/** Revisions with `initialize` and sessions, oldest first. */
export const LEGACY_REVISIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const;

/** What `initialize` answers to revisions that are not known here, and asks backends for. */
export const LATEST_LEGACY_REVISION = '2025-11-25';

/** The revision in which each request speaks for itself. */
export const MODERN_REVISION = '2026-07-28';

/** MCP 2026-07-28, "_meta": names that begin so mean the same to everybody. */
export const RESERVED_PREFIX = 'io.modelcontextprotocol/';

/** Error codes that only the newer revision knows: -32020 to -32099. `error` is the JSON text of a JSON-RPC error. */
export const isModernError = (error: Buffer): boolean => {
  const code = smallMember(error, 0, 'code');
  return typeof code === 'number' && code <= -32_020 && code >= -32_099;
};
