import type { Caller, User } from '../../call/index.ts';
import { type BlockInFile, recipientsOf } from '../../config/index.ts';
import { proveWith, type Wanted } from '../credential-source.ts';
import { recentRefusals } from '../recent-refusals.ts';
import { credentialRefused, loginRequired, type Named, noCredential, relayedTokenRefused } from '../refusals.ts';
import { keysOfSubjects, subjectTokenOf } from '../subject-token.ts';
import type { Strategy, StrategyDeps } from '../strategy.ts';
import { assumeRoleAt } from './assume-role.ts';
import { isRefusal } from './is-refusal.ts';
import type { RoleCredential } from './role-credential.ts';
import { roleChoiceBy } from './role-mappings.ts';
import { sessionNameOf } from './session-name.ts';
import { signedHeaders, unsendableHeader } from './sign.ts';

type Block = BlockInFile<'cloudSts'>;

/** A credential with the key that it is cached by. */
interface Kept {
  readonly key: string;
  readonly credential: RoleCredential;
  readonly isCached: boolean;
}

/**
 * Strategy `cloud_sts`: assumes a role with the token of the user, and signs each request with the credentials of that
 * role. Throws for a matcher that is no condition.
 */
export const cloudSts = (block: Block, deps: StrategyDeps): Strategy => {
  const { backend, clock, measures, newCredentialCache } = deps;
  const { region, service, sessionDuration, subjectProviderName: provider = '' } = block;
  const of = { backend: backend.name, strategy: 'cloud_sts' };
  const assumeRole = assumeRoleAt({ region, durationSeconds: sessionDuration }, { ...deps, of });
  const sessionOf = sessionsBy(block, of);
  const subjectOf = subjectTokenOf(of, { provider, recipients: recipientsOf('cloudSts', block, backend.origin) });
  const keyOf = keysOfSubjects(({ user, token }) => {
    const { roleArn, sessionName } = sessionOf(user);
    return [of.strategy, backend.name, backend.origin, user.issuer, user.subject, token, roleArn, sessionName];
  });
  const cache = newCredentialCache<RoleCredential>();
  const refusals = recentRefusals(clock);
  const current = async (caller: Caller, wanted: Wanted): Promise<Kept | undefined> => {
    // The gateway's own requests are nobody's: what they may not see is listed for each user.
    if (caller.kind === 'probe') return undefined;
    const subject = await subjectOf(caller);
    const { user, token } = subject;
    const session = sessionOf(user);
    const key = keyOf(subject);
    refusals.check(key);
    const role = {
      ...session,
      webIdentityToken: token,
      expired: () =>
        provider === ''
          ? relayedTokenRefused(of, caller, 'ExpiredTokenException')
          : refusals.note(key, loginRequired(of, provider)),
    };
    const credential = cache.get(key, (signal) => assumeRole(role, signal), wanted);
    return { key, credential: await credential, isCached: !(credential instanceof Promise) };
  };
  const scope = { region, service };
  const { host } = new URL(backend.origin);
  return {
    dependsOnCaller: true,
    prove: proveWith<Kept>({
      of,
      current,
      renewed: (caller, { key, credential }, wanted) => {
        cache.drop(key, credential);
        return current(caller, wanted);
      },
      addTo: (request, { credential }) => {
        const header = unsendableHeader(request.headers);
        if (header !== undefined)
          throw noCredential(of, 'a header of the request has characters that cannot be signed', { detail: header });
        return { ...request, headers: signedHeaders({ ...request, host }, credential, { ...scope, at: clock.now() }) };
      },
      isRefusal,
      refusal: (caller) => credentialRefused(of, caller),
      onGivenUp: ({ key }, error) => refusals.note(key, error),
      isCached: ({ isCached }) => isCached,
      measures,
    }),
    close: async () => {},
  };
};

interface RoleSession {
  readonly roleArn: string;
  readonly sessionName: string;
}

/**
 * Chooses role and name of the session for a user, once for each token: the same user with a newer token is another
 * value, with other claims.
 */
const sessionsBy = (block: Block, of: Named): ((user: User) => RoleSession) => {
  const roleOf = roleChoiceBy(block);
  const chosen = new WeakMap<User['claims'], ReturnType<typeof roleOf>>();
  return ({ claims }) => {
    const choice = chosen.get(claims) ?? roleOf(claims);
    chosen.set(claims, choice);
    if (choice.kind === 'none') throw noCredential(of, 'no role is meant for this user');
    if (choice.kind === 'undecided')
      throw noCredential(of, 'which role is meant for this user cannot be decided', { detail: choice.detail });
    const { sessionNameClaim } = block;
    const sessionName = sessionNameOf(Object.hasOwn(claims, sessionNameClaim) ? claims[sessionNameClaim] : undefined);
    if (sessionName === undefined)
      throw noCredential(of, 'the token names no role session', { detail: `claim ${sessionNameClaim}` });
    return { roleArn: choice.roleArn, sessionName };
  };
};
