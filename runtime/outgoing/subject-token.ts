import type { Caller, User } from '../call/index.ts';
import { VmcpError } from '../errors.ts';
import { loginRequired, type Named, noCredential } from './refusals.ts';

/** A user, and the token that shows to others who the user is. */
export interface Subject {
  readonly user: User;
  readonly token: string;
}

/**
 * The token by which a user is known to those who issue credentials: what the user has shown to this server, or the
 * one that the user got at an upstream provider. Throws `login_required` where the user has to sign in at that
 * provider, and `credential_unavailable` for a caller who has no token. `refused`: a token of the provider that was
 * refused, and has to be renewed.
 */
export const subjectTokenOf = (of: Named, provider: string | undefined) => {
  const ofProvider = async (user: User, name: string, refused: string | undefined): Promise<Subject> => {
    const token = await user.upstreamToken(name, refused).catch((cause: unknown) => {
      throw cause instanceof VmcpError ? cause : noCredential(of, `the token of "${name}" cannot be had`, { cause });
    });
    if (token === undefined || token === '') throw loginRequired(of, name);
    return { user, token };
  };
  return (caller: Caller, refused?: string): Subject | Promise<Subject> => {
    if (caller.kind !== 'user') throw noCredential(of, 'the caller has not signed in');
    if (provider !== undefined && provider !== '') return ofProvider(caller, provider, refused);
    if (caller.token === '') throw noCredential(of, 'the caller has no token that could be shown');
    return { user: caller, token: caller.token };
  };
};
