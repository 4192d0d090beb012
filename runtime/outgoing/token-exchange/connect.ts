import { type BlockInFile, recipientsOf } from '../../config/index.ts';
import { proveWith, withHeader } from '../credential-source.ts';
import { credentialRefused } from '../refusals.ts';
import type { Strategy, StrategyDeps } from '../strategy.ts';
import { subjectTokenOf } from '../subject-token.ts';
import { type Exchanged, exchangedTokens } from './exchanged-tokens.ts';

/**
 * Strategy `token_exchange`: the caller's token is exchanged for one that the backend takes (RFC 8693). The gateway's
 * own checks go without.
 */
export const tokenExchange = (block: BlockInFile<'tokenExchange'>, deps: StrategyDeps): Strategy => {
  const of = { backend: deps.backend.name, strategy: 'token_exchange' };
  const { subjectProviderName, externalTokenHeaderName: header = 'authorization' } = block;
  const { tokenFor, drop, giveUp } = exchangedTokens(block, of, deps);
  const subjectOf = subjectTokenOf(of, {
    provider: subjectProviderName,
    recipients: recipientsOf('tokenExchange', block, deps.backend.origin),
  });
  return {
    dependsOnCaller: true,
    prove: proveWith<Exchanged>({
      of,
      current: (caller, wanted) => {
        if (caller.kind === 'probe') return undefined;
        const subject = subjectOf(caller);
        return subject instanceof Promise ? subject.then((each) => tokenFor(each, wanted)) : tokenFor(subject, wanted);
      },
      renewed: async (caller, refused, wanted) => {
        const subject = await subjectOf(caller);
        drop(refused);
        const newer = await tokenFor(subject, wanted);
        return newer.token === refused.token ? undefined : newer;
      },
      addTo: (request, { token }) => withHeader(request, header, `Bearer ${token}`),
      refusal: (caller) => credentialRefused(of, caller),
      onGivenUp: giveUp,
      isCached: ({ isCached }) => isCached,
      measures: deps.measures,
    }),
    close: async () => {},
  };
};
