import { type Caller, RELAYED_AUTHORIZATION } from '../call/index.ts';
import type { BlockInFile } from '../config/index.ts';
import { VmcpError } from '../errors.ts';
import { withHeader } from './credential-source.ts';
import type { BackendRequest } from './fetch.ts';
import { relayedTokenRefused } from './refusals.ts';
import type { Strategy, StrategyDeps } from './strategy.ts';

const AUTHORIZATION = 'authorization';

/**
 * Strategy `token_relay`: the caller's own token. The gateway itself has none, so its requests go without; one of an
 * anonymous caller is not sent.
 */
export const tokenRelay = (
  { headerName = AUTHORIZATION }: BlockInFile<'tokenRelay'>,
  { backend }: Pick<StrategyDeps, 'backend'>,
): Strategy => {
  return {
    dependsOnCaller: true,
    prove: (caller) => (next) => async (request) => {
      if (caller.kind === 'probe') return next(request);
      const response = await next(withHeader(request, headerName, `Bearer ${tokenOf(caller, backend.name)}`));
      if (response.status !== 401) return response;
      throw refusedTo(caller, backend.name);
    },
    close: async () => {},
  };
};

const tokenOf = (caller: Caller, backend: string): string => {
  if (caller.kind === 'user' && caller.token !== '') return caller.token;
  throw unavailable(backend, 'it needs the token of a user, and the request has none');
};

const refusedTo = (caller: Caller, backend: string): VmcpError =>
  relayedTokenRefused({ backend }, caller, HTTP_401) ??
  unavailable(backend, 'the token of the caller is refused', { detail: HTTP_401 });

const HTTP_401 = 'HTTP 401';

const unavailable = (backend: string, why: string, more: { readonly detail?: string } = {}): VmcpError =>
  new VmcpError('credential_unavailable', `no credential for backend "${backend}" (token_relay): ${why}`, more);

/** The request with its credential in the header for a runtime that passes it on; without any, as it is. */
export const relayed = (request: BackendRequest): BackendRequest => ({
  ...request,
  headers: request.headers.map((each, index) =>
    index % 2 === 0 && each.toLowerCase() === AUTHORIZATION ? RELAYED_AUTHORIZATION : each,
  ),
});
