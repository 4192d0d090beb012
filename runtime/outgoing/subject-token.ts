import type { Caller, User } from '../call/index.ts';
import { VmcpError } from '../errors.ts';
import { credentialKey } from './credential-cache.ts';
import { loginRequired, type Named, noCredential } from './refusals.ts';

/** A user, and the token that shows to others who the user is. */
export interface Subject {
  readonly user: User;
  readonly token: string;
}

/** Which token it is, and where it goes. */
export interface SubjectTokenSource {
  /** Empty or undefined: the token that the user has shown to this server. */
  readonly provider: string | undefined;
  /** Origins that the token, or what is had for it, is sent to. */
  readonly recipients: readonly string[];
}

/**
 * The token by which a user is known to those who issue credentials: what the user has shown to this server, or the
 * one that the user got at an upstream provider. Throws `login_required` where the user has to sign in at that
 * provider, and `credential_unavailable` for a caller who has no token. `refused`: a token of the provider that was
 * refused, and has to be renewed.
 */
export const subjectTokenOf = (of: Named, { provider, recipients }: SubjectTokenSource) => {
  const { backend } = of;
  const ofProvider = async (user: User, name: string, refused: string | undefined): Promise<Subject> => {
    const use = { backend, recipients, ...(refused !== undefined && { refused }) };
    const token = await user.upstreamToken(name, use).catch((cause: unknown) => {
      const known = cause instanceof VmcpError ? cause : undefined;
      if (known && known.code !== 'credential_unavailable') throw known;
      throw noCredential(of, `the token of "${name}" cannot be had`, { cause, isOutage: known?.isOutage ?? false });
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

/**
 * The `credentialKey` of a subject, from the parts that it depends on. Made once for each token of a user, as a digest
 * of a token costs more than all else that a warm call does here. A `User` is another value for each token that is
 * shown to this server; parts that are not of the token may depend on it alone.
 */
export const keysOfSubjects = (partsOf: (subject: Subject) => readonly string[]): ((subject: Subject) => string) => {
  const known = new WeakMap<User, { readonly token: string; readonly key: string }>();
  return (subject) => {
    const last = known.get(subject.user);
    if (last?.token === subject.token) return last.key;
    const key = credentialKey(partsOf(subject));
    known.set(subject.user, { token: subject.token, key });
    return key;
  };
};
