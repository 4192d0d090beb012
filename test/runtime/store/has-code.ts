import { type ErrorCode, VmcpError } from '../../../runtime/errors.ts';

/** For `assert.rejects`. */
export const hasCode =
  (code: ErrorCode) =>
  (error: unknown): boolean =>
    error instanceof VmcpError && error.code === code;
