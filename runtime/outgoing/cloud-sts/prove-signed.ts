import type { Caller } from '../../call/index.ts';
import type { VmcpError } from '../../errors.ts';
import type { BackendResponse } from '../fetch.ts';
import type { AddressedRequest, Prove } from '../strategy.ts';

/** Where the credentials of callers come from, and how a request is signed with them. */
export interface SigningSource<V> {
  /**
   * The credential of this caller. Undefined: the request is sent unsigned, as those of the gateway itself. `wanted`
   * aborts when the request is given up. Throws VmcpError.
   */
  readonly current: (caller: Caller, wanted: AbortSignal) => Promise<V | undefined>;
  /** Forgets a credential that the backend has refused. */
  readonly drop: (credential: V) => void;
  readonly sign: (request: AddressedRequest, credential: V) => AddressedRequest;
  /** The error for a caller whose credential, and a new one, were refused. */
  readonly refusal: () => VmcpError;
}

/**
 * Signs each request when it is sent. A backend that does not take the credential has not executed the request: it is
 * sent once more with a new one, and after that the backend's answer becomes an error, and is never the answer of the
 * gateway (docs/decisions.md "Errors").
 */
export const proveSigned =
  <V>(source: SigningSource<V>): Prove =>
  (caller) =>
  (next) =>
  async (request) => {
    const credential = await source.current(caller, givenUp(request));
    if (credential === undefined) return next(request);
    const response = await next(source.sign(request, credential));
    if (!isRefusal(response)) return response;
    source.drop(credential);
    const newer = await source.current(caller, givenUp(request));
    if (newer === undefined) throw source.refusal();
    const second = await next(source.sign(request, newer));
    if (!isRefusal(second)) return second;
    source.drop(newer);
    throw source.refusal();
  };

const givenUp = ({ idleTimeout }: AddressedRequest): AbortSignal => {
  const controller = new AbortController();
  // The exchange with the backend replaces this function once it begins.
  idleTimeout.onAbandoned((reason) => controller.abort(reason));
  return controller.signal;
};

/** Codes for credentials that have ended, or were revoked (AWS "Common Errors"). */
const ENDED = /\b(?:ExpiredToken(?:Exception)?|InvalidClientTokenId|UnrecognizedClientException)\b/;
/** An error of the platform is short, and its code stands in front. */
const SEARCHED_BYTES = 2_048;

/** 403 also says that the role may not do this, for which another credential of it would be of no use. */
const isRefusal = ({ status, headers, body }: BackendResponse): boolean => {
  if (status !== 403) return status === 401;
  return (
    ENDED.test(String(headers['x-amzn-errortype'] ?? '')) || ENDED.test(body.toString('latin1', 0, SEARCHED_BYTES))
  );
};
