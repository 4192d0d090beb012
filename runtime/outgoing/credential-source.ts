import type { Caller } from '../call/index.ts';
import type { VmcpError } from '../errors.ts';
import type { BackendRequest, BackendResponse } from './fetch.ts';
import type { AddressedRequest, Prove } from './strategy.ts';

/** Where the credentials of one strategy for one backend come from. */
export interface CredentialSource<V> {
  /**
   * The credential of this caller. Undefined: the request is sent without one, as those of the gateway itself where
   * each user has their own. Throws VmcpError where there has to be one and there is none.
   */
  readonly current: (caller: Caller, wanted: Wanted) => V | undefined | Promise<V | undefined>;
  /**
   * A credential in place of one that the backend has refused; undefined where there is no other. Throws as
   * `current`.
   */
  readonly renewed: (caller: Caller, refused: V, wanted: Wanted) => Promise<V | undefined>;
  /** The request with the credential. */
  readonly addTo: (request: AddressedRequest, credential: V) => AddressedRequest | Promise<AddressedRequest>;
  /** The error for a caller whose credential was refused: a renewed one, too, or there is no other. */
  readonly refusal: (caller: Caller, isRenewed: boolean) => VmcpError;
  /**
   * Whether the backend has refused the credential, and not executed the request. Absent: its answer 401 says so, and
   * no other.
   */
  readonly isRefusal?: (response: BackendResponse) => boolean;
  /**
   * Called with the error when the last credential that could be tried was refused to a call; a stream that is refused
   * says nothing about calls.
   */
  readonly onGivenUp?: (refused: V, error: VmcpError) => void;
  /** Called for each credential that the backend refuses. */
  readonly onRefused?: () => void;
}

/** A signal that aborts when the request that needs a credential is given up. */
export type Wanted = () => AbortSignal;

/**
 * Sends each request with the credential that its caller has at that moment. A backend's 401 means that it has not
 * executed the request, so the request is sent once more with a renewed credential, where there is one; after that the
 * 401 becomes an error, and is never the answer of the gateway (docs/decisions.md "A backend refuses a credential").
 */
export const proveWith =
  <V>(source: CredentialSource<V>): Prove =>
  (caller) =>
  (next) =>
  async (request) => {
    const { isRefusal = isUnauthorized } = source;
    const wanted = (): AbortSignal => givenUp(request);
    const credential = await source.current(caller, wanted);
    if (credential === undefined) return next(request);
    const response = await next(await source.addTo(request, credential));
    if (!isRefusal(response)) return response;
    source.onRefused?.();
    const newer = await source.renewed(caller, credential, wanted);
    const giveUp = (refused: V, isRenewed: boolean): never => {
      const error = source.refusal(caller, isRenewed);
      if (request.lane !== 'stream') source.onGivenUp?.(refused, error);
      throw error;
    };
    if (newer === undefined) return giveUp(credential, false);
    const second = await next(await source.addTo(request, newer));
    if (!isRefusal(second)) return second;
    source.onRefused?.();
    return giveUp(newer, true);
  };

const isUnauthorized = ({ status }: BackendResponse): boolean => status === 401;

const givenUp = ({ idleTimeout }: BackendRequest): AbortSignal => {
  const controller = new AbortController();
  // The exchange with the backend replaces this function once it begins.
  idleTimeout.onAbandoned((reason) => controller.abort(reason));
  return controller.signal;
};

/** The request with this header, in place of any other of the name. */
export const withHeader = (request: AddressedRequest, name: string, value: string): AddressedRequest => {
  const key = name.toLowerCase();
  const headers: string[] = [];
  for (let index = 0; index < request.headers.length; index += 2) {
    const [each = '', its = ''] = request.headers.slice(index, index + 2);
    if (each.toLowerCase() !== key) headers.push(each, its);
  }
  headers.push(key, value);
  return { ...request, headers };
};
