import { VmcpError } from '../../errors.ts';

/**
 * The identity provider cannot be asked whether a token is valid. No 401: the client would throw away a token that is
 * none the worse for it, and ask its user to sign in again.
 */
export const issuerUnavailable = (detail?: string): VmcpError =>
  new VmcpError('issuer_unavailable', 'the identity provider cannot be reached, so the token cannot be checked', {
    ...(detail !== undefined && { detail }),
  });

/** Too many tokens from one address were not valid: others that are not known yet have to wait. */
export const tooManyFailures = (): VmcpError =>
  new VmcpError('overloaded', 'too many tokens from this address were not valid; try again');
