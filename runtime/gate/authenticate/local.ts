import { type Caller, isSameCaller, type RequestHead, type User } from '../../call/index.ts';
import { VmcpError } from '../../errors.ts';
import { isLoopbackAddress } from '../../http/index.ts';

/** Issuer of the user of the operating system; no issuer of tokens has such a name, as theirs are URLs. */
export const LOCAL_ISSUER = 'local';

/**
 * Incoming auth `local`: whoever reaches the loopback address is the user who runs this process. A trusted proxy that
 * tells of a client elsewhere is refused.
 */
export const authenticateLocal = (name: string) => {
  const user: User = {
    kind: 'user',
    issuer: LOCAL_ISSUER,
    subject: name,
    claims: Object.freeze({ iss: LOCAL_ISSUER, sub: name, name }),
    token: '',
    expiresAt: undefined,
    upstreamToken: async () => undefined,
  };
  const authenticate = ({ clientAddress }: RequestHead): User => {
    if (clientAddress === undefined || !isLoopbackAddress(clientAddress))
      throw new VmcpError('invalid_token', 'only clients on this machine are served');
    return user;
  };
  const verifyAgain = (caller: Caller): User | undefined => (isSameCaller(caller, user) ? user : undefined);
  return { authenticate, verifyAgain };
};
