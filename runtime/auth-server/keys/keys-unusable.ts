import { VmcpError } from '../../errors.ts';

/** A key that the configuration names is missing or cannot be used. `detail` says which, and holds no secret. */
export const keysUnusable = (detail: string): VmcpError =>
  new VmcpError('issuer_unavailable', 'the authorization server cannot work at the moment; try again', { detail });
