import type { Caller, CredentialOutcome } from '../call/index.ts';
import { VmcpError } from '../errors.ts';
import type { BackendRequest, BackendResponse, Fetch } from './fetch.ts';
import { type Named, noCredential } from './refusals.ts';
import type { CredentialMeasures, NoteOutcome, Prove } from './strategy.ts';

/** Where the credentials of one strategy for one backend come from. */
export interface CredentialSource<V> {
  /** For errors. */
  readonly of: Named;
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
  /** The request with the credential. Throws VmcpError where it cannot have it. */
  readonly addTo: (request: BackendRequest, credential: V) => BackendRequest;
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
  (callerNow, note = unnoted) =>
  (next) =>
  async (request) => {
    markUnsent(request);
    const caller = callerNow();
    let credential: V | undefined;
    let proven = request;
    try {
      const current = source.current(caller, () => givenUp(request));
      // A credential that is there is not waited for: each wait costs every call.
      credential = current instanceof Promise ? await current : current;
      if (credential !== undefined) proven = source.addTo(request, credential);
    } catch (error) {
      note('unavailable');
      throw asCredentialError(source.of, error);
    }
    if (credential === undefined) return next(request);
    note(taken(source, credential));
    const response = await next(proven);
    if (!isRefused(source, response)) return response;
    return sendRenewed(source, { caller, note, next, request, refused: credential });
  };

interface Refused<V> {
  readonly caller: Caller;
  readonly note: NoteOutcome;
  readonly next: Fetch;
  readonly request: BackendRequest;
  readonly refused: V;
}

const sendRenewed = async <V>(
  source: CredentialSource<V>,
  { caller, note, next, request, refused }: Refused<V>,
): Promise<BackendResponse> => {
  const giveUp = (last: V, isRenewed: boolean): never => {
    note('refused');
    const error = source.refusal(caller, isRenewed);
    if (request.lane !== 'stream') source.onGivenUp?.(last, error);
    throw error;
  };
  source.measures.refused();
  markUnsent(request);
  let newer: V | undefined;
  let proven = request;
  try {
    newer = await source.renewed(caller, refused, () => givenUp(request));
    if (newer !== undefined) proven = source.addTo(request, newer);
  } catch (error) {
    note('refused');
    throw asCredentialError(source.of, error);
  }
  if (newer === undefined) return giveUp(refused, false);
  taken(source, newer);
  const second = await next(proven);
  if (isRefused(source, second)) {
    source.measures.refused();
    return giveUp(newer, true);
  }
  note('renewed');
  return second;
};

const unnoted: NoteOutcome = () => {};

/** Nothing was sent to the backend, which is not at fault. */
const asCredentialError = (of: Named, error: unknown): VmcpError =>
  error instanceof VmcpError ? error : noCredential(of, 'it cannot be had', { cause: error });

/** Where a credential comes from; counted where that is a cache. */
const taken = <V>({ isCached, measures }: CredentialSource<V>, credential: V): CredentialOutcome => {
  if (!isCached) return 'sent';
  if (!isCached(credential)) return 'obtained';
  measures.cached();
  return 'cached';
};

/** A request that is given up while it waits for its credential is not sent any more, and needs no cancellation. */
const markUnsent = ({ idleTimeout }: BackendRequest): void => idleTimeout.onAbandoned(() => {}, 'unsent');

const isRefused = <V>({ isRefusal }: CredentialSource<V>, response: BackendResponse): boolean =>
  isRefusal ? isRefusal(response) : response.status === 401;

const givenUp = ({ idleTimeout }: BackendRequest): AbortSignal => {
  const controller = new AbortController();
  // The exchange with the backend replaces this function once it begins.
  idleTimeout.onAbandoned((reason) => controller.abort(reason), 'unsent');
  return controller.signal;
};

/** The request with this header, in place of any other of the name. */
export const withHeader = (request: BackendRequest, name: string, value: string): BackendRequest => {
  const key = name.toLowerCase();
  const headers: string[] = [];
  for (let index = 0; index < request.headers.length; index += 2) {
    const { [index]: each = '', [index + 1]: its = '' } = request.headers;
    if (each.length !== key.length || each.toLowerCase() !== key) headers.push(each, its);
  }
  headers.push(key, value);
  return { ...request, headers };
};
