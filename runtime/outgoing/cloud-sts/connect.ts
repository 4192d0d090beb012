import { createHash } from 'node:crypto';
import type { Caller, User } from '../../call/index.ts';
import type { BlockInFile } from '../../config/index.ts';
import { VmcpError } from '../../errors.ts';
import { credentialKey } from '../credential-cache.ts';
import type { Strategy, StrategyDeps } from '../strategy.ts';
import { assumeRoleAt } from './assume-role.ts';
import { proveSigned } from './prove-signed.ts';
import { loginRequired, type Refuse, refusalsOf } from './refusals.ts';
import type { RoleCredential } from './role-credential.ts';
import { roleChoiceBy } from './role-mappings.ts';
import { sessionNameOf } from './session-name.ts';
import { signedHeaders } from './sign.ts';

type Block = BlockInFile<'cloudSts'>;

/** A credential with the key that it is cached by. */
interface Kept {
  readonly key: string;
  readonly credential: RoleCredential;
}

/**
 * Strategy `cloud_sts`: assumes a role with the token of the user, and signs each request with the credentials of that
 * role. Throws for a matcher that is no condition.
 */
export const cloudSts = (block: Block, deps: StrategyDeps): Strategy => {
  const { backend, clock, newCredentialCache } = deps;
  const { region, service, sessionDuration, subjectProviderName } = block;
  const refuse = refusalsOf(backend.name);
  const assumeRole = assumeRoleAt({ region, durationSeconds: sessionDuration }, { ...deps, refuse });
  const sessionOf = sessionsBy(block, refuse);
  const cache = newCredentialCache<RoleCredential>();
  const current = async (caller: Caller, wanted: AbortSignal): Promise<Kept | undefined> => {
    // The gateway's own requests are nobody's: what they may not see is listed for each user.
    if (caller.kind === 'probe') return undefined;
    if (caller.kind !== 'user') throw refuse('it needs a user, and the caller is anonymous');
    const session = sessionOf(caller);
    const { token, expired } = await subjectOf(caller, {
      backend: backend.name,
      provider: subjectProviderName,
      refuse,
    });
    const { issuer, subject } = caller;
    const { roleArn, sessionName } = session;
    const key = credentialKey([
      'cloud_sts',
      backend.name,
      backend.origin,
      issuer,
      subject,
      createHash('sha256').update(token).digest('base64url'),
      roleArn,
      sessionName,
    ]);
    const role = { ...session, webIdentityToken: token, ...(expired && { expired }) };
    return { key, credential: await cache.get(key, (signal) => assumeRole(role, signal), wanted) };
  };
  const scope = { region, service };
  return {
    dependsOnCaller: true,
    prove: proveSigned<Kept>({
      current,
      drop: ({ key, credential }) => cache.drop(key, credential),
      sign: (request, { credential }) => ({
        ...request,
        headers: signedHeaders(request, credential, { ...scope, at: clock.now() }),
      }),
      refusal: () => refuse('the backend refuses the credentials of the role', { detail: 'with new credentials, too' }),
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
const sessionsBy = (block: Block, refuse: Refuse): ((user: User) => RoleSession) => {
  const roleOf = roleChoiceBy(block);
  const chosen = new WeakMap<User['claims'], ReturnType<typeof roleOf>>();
  return ({ claims }) => {
    const choice = chosen.get(claims) ?? roleOf(claims);
    chosen.set(claims, choice);
    if (choice.kind === 'none') throw refuse('no role is meant for this user');
    if (choice.kind === 'undecided')
      throw refuse('which role is meant for this user cannot be decided', { detail: choice.detail });
    const { sessionNameClaim } = block;
    const sessionName = sessionNameOf(Object.hasOwn(claims, sessionNameClaim) ? claims[sessionNameClaim] : undefined);
    if (sessionName === undefined)
      throw refuse('the token names no role session', { detail: `claim ${sessionNameClaim}` });
    return { roleArn: choice.roleArn, sessionName };
  };
};

interface SubjectSource {
  readonly backend: string;
  readonly provider: string | undefined;
  readonly refuse: Refuse;
}

interface Subject {
  readonly token: string;
  /** The error for a token that has ended. */
  readonly expired?: () => VmcpError;
}

/** The web identity token: the upstream provider's where one is named, else the one that the user has presented. */
const subjectOf = async (user: User, { backend, provider, refuse }: SubjectSource): Promise<Subject> => {
  if (provider === undefined) return { token: user.token };
  const expired = (): VmcpError => loginRequired(backend, provider);
  const token = await user.upstreamToken(provider).catch((cause: unknown) => {
    throw cause instanceof VmcpError ? cause : refuse(`the token of "${provider}" cannot be had`, { cause });
  });
  if (token === undefined) throw expired();
  return { token, expired };
};
