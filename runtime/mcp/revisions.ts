import { smallMember } from '../json/index.ts';

/** Revisions with `initialize` and sessions, oldest first. */
export const LEGACY_REVISIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const;

/** The revision that `initialize` answers to clients of unknown revisions, and requests from backends. */
export const LATEST_LEGACY_REVISION = '2025-11-25';

/** The revision without sessions, in which each request is self-contained. */
export const MODERN_REVISION = '2026-07-28';

/** MCP 2026-07-28, "_meta": the prefix of the names that MCP defines. */
export const RESERVED_PREFIX = 'io.modelcontextprotocol/';

/**
 * Whether the error code is one that only 2026-07-28 has: -32020 to -32099. `error` is the JSON text of a JSON-RPC
 * error.
 */
export const isModernError = (error: Buffer): boolean => {
  const code = smallMember(error, 0, 'code');
  return typeof code === 'number' && code <= -32_020 && code >= -32_099;
};
