import { VmcpError } from '../errors.ts';
import type { Era } from './era.ts';
import { LEGACY_REVISIONS } from './legacy.ts';

/**
 * The 2026-07-28 era is not served yet. A probe (`server/discover`) must read the answer as "an older server" and fall back to
 * `initialize`: a 4xx whose code is none of the new revision's own (-32020 to -32099).
 */
export const modernRefused: Era = {
  parse: () => {
    throw new VmcpError(
      'unsupported_protocol_version',
      `unsupported protocol version (supported: ${LEGACY_REVISIONS.join(', ')})`,
    );
  },
};
