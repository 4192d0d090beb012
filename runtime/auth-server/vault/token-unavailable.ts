import { VmcpError, type VmcpErrorMore } from '../../errors.ts';
import type { Account } from './account-record.ts';

/** There may be a token, and it cannot be had at this moment; a sign-in is no help. `what` is safe for strangers. */
export const tokenUnavailable = (
  { provider }: Account,
  what: string,
  why: Pick<VmcpErrorMore, 'cause' | 'isOutage'> = {},
): VmcpError => new VmcpError('credential_unavailable', `no token of "${provider}": ${what}`, why);
