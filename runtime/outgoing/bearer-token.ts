import type { BlockInFile } from '../config/index.ts';
import { proveWith, withHeader } from './credential-source.ts';
import { credentialRefused } from './refusals.ts';
import { rotatingSecret } from './rotating-secret.ts';
import type { Strategy, StrategyDeps } from './strategy.ts';

/** Strategy `bearer_token`: a token that is the same for all callers, the gateway's own probes included. */
export const bearerToken = ({ tokenFile }: BlockInFile<'bearerToken'>, deps: StrategyDeps): Strategy => {
  const of = { backend: deps.backend.name, strategy: 'bearer_token' };
  const secret = rotatingSecret({ source: { file: tokenFile } }, { of, what: 'the token', form: 'token' }, deps);
  return {
    dependsOnCaller: false,
    prove: proveWith<string>({
      of,
      current: secret.current,
      renewed: (_caller, refused) => secret.renewed(refused),
      addTo: (request, token) => withHeader(request, 'authorization', `Bearer ${token}`),
      refusal: (caller) => credentialRefused(of, caller),
      measures: deps.measures,
    }),
    close: async () => {},
  };
};
