import type { Caller, CredentialOutcome } from '../call/index.ts';
import type { VmcpError } from '../errors.ts';
import type { BackendRequest, BackendResponse } from './fetch.ts';
import type { AddressedRequest, CredentialMeasures, NoteOutcome, Prove } from './strategy.ts';

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
  /** Whether the credential was taken from a cache. Absent: there is none, and nothing is asked for at an issuer. */
  readonly isCached?: (credential: V) => boolean;
  readonly measures: Pick<CredentialMeasures, 'cached' | 'refused'>;
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
  (caller, note = unnoted) =>
  (next) =>
  async (request) => {
    const { isRefusal = isUnauthorized, measures } = source;
    const wanted = (): AbortSignal => givenUp(request);
    markUnsent(request);
    const credential = await orNote(source.current, [caller, wanted], () => note('unavailable'));
    if (credential === undefined) return next(request);
    const withCredential = await source.addTo(request, credential);
    note(taken(source, credential));
    const response = await next(withCredential);
    if (!isRefusal(response)) return response;
    measures.refused();
    markUnsent(request);
    const newer = await orNote(source.renewed, [caller, credential, wanted], () => note('refused'));
    const giveUp = (refused: V, isRenewed: boolean): never => {
      note('refused');
      const error = source.refusal(caller, isRenewed);
      if (request.lane !== 'stream') source.onGivenUp?.(refused, error);
      throw error;
    };
    if (newer === undefined) return giveUp(credential, false);
    taken(source, newer);
    const second = await next(await source.addTo(request, newer));
    if (isRefusal(second)) {
      measures.refused();
      return giveUp(newer, true);
    }
    note('renewed');
    return second;
  };

const unnoted: NoteOutcome = () => {};

/** What `get` gives; an error is noted on its way. */
const orNote = async <Given extends readonly unknown[], V>(
  get: (...given: Given) => V | Promise<V>,
  given: Given,
  note: () => void,
): Promise<V> => {
  try {
    return await get(...given);
  } catch (error) {
    note();
    throw error;
  }
};

/** Where a credential comes from; counted where that is a cache. */
const taken = <V>({ isCached, measures }: CredentialSource<V>, credential: V): CredentialOutcome => {
  if (!isCached) return 'sent';
  if (!isCached(credential)) return 'obtained';
  measures.cached();
  return 'cached';
};

/** A request that is given up while it waits for its credential is not sent any more, and needs no cancellation. */
const markUnsent = ({ idleTimeout }: BackendRequest): void => idleTimeout.onAbandoned(() => {}, 'unsent');

const isUnauthorized = ({ status }: BackendResponse): boolean => status === 401;

const givenUp = ({ idleTimeout }: BackendRequest): AbortSignal => {
  const controller = new AbortController();
  // The exchange with the backend replaces this function once it begins.
  idleTimeout.onAbandoned((reason) => controller.abort(reason), 'unsent');
  return controller.signal;
};

/** The request with this header, in place of any other of the name. */
export const withHeader = (request: AddressedRequest, name: string, value: string): AddressedRequest => {
  const key = name.toLowerCase();
  const headers: string[] = [];
  for (let index = 0; index < request.headers.length; index += 2) {
    const { [index]: each = '', [index + 1]: its = '' } = request.headers;
    if (each.length !== key.length || each.toLowerCase() !== key) headers.push(each, its);
  }
  headers.push(key, value);
  return { ...request, headers };
};
