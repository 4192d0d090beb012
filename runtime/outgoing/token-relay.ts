import { type Caller, RELAYED_AUTHORIZATION } from '../call/index.ts';
import type { BlockInFile } from '../config/index.ts';
import { proveWith, withHeader } from './credential-source.ts';
import type { BackendRequest } from './fetch.ts';
import { type Named, noCredential, relayedTokenRefused } from './refusals.ts';
import type { Strategy, StrategyDeps } from './strategy.ts';

const AUTHORIZATION = 'authorization';

/**
 * Strategy `token_relay`: the caller's own token. The gateway itself has none, so its requests go without; one of an
 * anonymous caller is not sent.
 */
export const tokenRelay = (
  { headerName = AUTHORIZATION }: BlockInFile<'tokenRelay'>,
  { backend, measures }: Pick<StrategyDeps, 'backend' | 'measures'>,
): Strategy => {
  const of = { backend: backend.name, strategy: 'token_relay' };
  return {
    dependsOnCaller: true,
    prove: proveWith<string>({
      of,
      current: (caller) => (caller.kind === 'probe' ? undefined : tokenOf(caller, of)),
      // Only the caller can get another one.
      renewed: async () => undefined,
      addTo: (request, token) => withHeader(request, headerName, `Bearer ${token}`),
      refusal: (caller) =>
        relayedTokenRefused(of, caller, HTTP_401) ??
        noCredential(of, 'the token of the caller is refused', { detail: HTTP_401 }),
      measures,
    }),
    close: async () => {},
  };
};

const tokenOf = (caller: Caller, of: Named): string => {
  if (caller.kind === 'user' && caller.token !== '') return caller.token;
  throw noCredential(of, 'it needs the token of a user, and the request has none');
};

const HTTP_401 = 'HTTP 401';

/** The request with its credential in the header for a runtime that passes it on; without any, as it is. */
export const relayed = (request: BackendRequest): BackendRequest => ({
  ...request,
  headers: request.headers.map((each, index) =>
    index % 2 === 0 && each.toLowerCase() === AUTHORIZATION ? RELAYED_AUTHORIZATION : each,
  ),
});
