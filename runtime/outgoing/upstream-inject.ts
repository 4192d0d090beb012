import type { Caller } from '../call/index.ts';
import { type BlockInFile, recipientsOf } from '../config/index.ts';
import { proveWith, withHeader } from './credential-source.ts';
import { recentRefusals } from './recent-refusals.ts';
import { credentialRefused, loginRequired } from './refusals.ts';
import { keysOfSubjects, subjectTokenOf } from './subject-token.ts';
import type { Strategy, StrategyDeps } from './strategy.ts';

interface Held {
  readonly key: string;
  readonly token: string;
}

/**
 * Strategy `upstream_inject`: the access token that the user got at an upstream provider of the embedded authorization
 * server, which also keeps and refreshes it. The gateway's own checks go without.
 */
export const upstreamInject = (block: BlockInFile<'upstreamInject'>, deps: StrategyDeps): Strategy => {
  const { providerName } = block;
  const of = { backend: deps.backend.name, strategy: 'upstream_inject' };
  const subjectOf = subjectTokenOf(of, {
    provider: providerName,
    recipients: recipientsOf('upstreamInject', block, deps.backend.origin),
  });
  const keyOf = keysOfSubjects(({ user: { issuer, subject }, token }) => [issuer, subject, token]);
  const refusals = recentRefusals(deps.clock);
  const held = async (caller: Caller, refused?: string): Promise<Held> => {
    const subject = await subjectOf(caller, refused);
    return { key: keyOf(subject), token: subject.token };
  };
  return {
    dependsOnCaller: true,
    prove: proveWith<Held>({
      of,
      current: async (caller) => {
        if (caller.kind === 'probe') return undefined;
        const current = await held(caller);
        refusals.check(current.key);
        return current;
      },
      renewed: async (caller, refused) => {
        const newer = await held(caller, refused.token);
        return newer.token === refused.token ? undefined : newer;
      },
      addTo: (request, { token }) => withHeader(request, 'authorization', `Bearer ${token}`),
      // Only the user can get a token where there is no other; where fresh ones are refused, a login is no help.
      refusal: (caller, isRenewed) => (isRenewed ? credentialRefused(of, caller) : loginRequired(of, providerName)),
      // A login may give the same token once more.
      onGivenUp: ({ key }, error) => {
        if (error.code !== 'login_required') refusals.note(key, error);
      },
      measures: deps.measures,
    }),
    close: async () => {},
  };
};
