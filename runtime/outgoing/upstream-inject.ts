import type { Caller } from '../call/index.ts';
import type { BlockInFile } from '../config/index.ts';
import { proveWith, withHeader } from './credential-source.ts';
import { credentialRefused, loginRequired } from './refusals.ts';
import { subjectTokenOf } from './subject-token.ts';
import type { Strategy, StrategyDeps } from './strategy.ts';

/**
 * Strategy `upstream_inject`: the access token that the user got at an upstream provider of the embedded authorization
 * server, which also keeps and refreshes it. The gateway's own checks go without.
 */
export const upstreamInject = ({ providerName }: BlockInFile<'upstreamInject'>, deps: StrategyDeps): Strategy => {
  const of = { backend: deps.backend.name, strategy: 'upstream_inject' };
  const subjectOf = subjectTokenOf(of, providerName);
  const tokenOf = async (caller: Caller, refused?: string): Promise<string> => (await subjectOf(caller, refused)).token;
  return {
    dependsOnCaller: true,
    prove: proveWith<string>({
      current: (caller) => (caller.kind === 'probe' ? undefined : tokenOf(caller)),
      renewed: async (caller, refused) => {
        const newer = await tokenOf(caller, refused);
        return newer === refused ? undefined : newer;
      },
      addTo: (request, token) => withHeader(request, 'authorization', `Bearer ${token}`),
      // Only the user can get another token.
      refusal: (caller) => (caller.kind === 'user' ? loginRequired(of, providerName) : credentialRefused(of, caller)),
      onRefused: deps.measures.refused,
    }),
    close: async () => {},
  };
};
