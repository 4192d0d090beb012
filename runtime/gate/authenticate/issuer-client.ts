import { FetchError, type GuardedClient, type FetchRequest } from '../../http/index.ts';
import { objectIn } from '../../json/index.ts';

/**
 * Why an issuer could not be asked, fit for logs: it names what was asked and of the address at most the origin, and
 * nothing that was sent or received.
 */
export class IssuerUnreachableError extends Error {
  override readonly name = 'IssuerUnreachableError';
  /** The client was closed, as a newer configuration needs another one. */
  readonly isClosed: boolean;

  constructor(what: string, reason: string, { isClosed = false }: { readonly isClosed?: boolean } = {}) {
    super(`${what}: ${reason}`);
    this.isClosed = isClosed;
  }
}

/** The answer of an issuer: a JSON object with status 200, or another status. */
export type IssuerAnswer =
  | { readonly status: 200; readonly object: Readonly<Record<string, unknown>> }
  | { readonly status: number; readonly object: undefined };

/** Asks for a JSON object. `what` names it in errors. Throws IssuerUnreachableError. */
export const askIssuer = async (
  { fetch }: Pick<GuardedClient, 'fetch'>,
  what: string,
  request: FetchRequest,
): Promise<IssuerAnswer> => {
  const headers = { accept: 'application/json', ...request.headers };
  const { status, body } = await fetch({ ...request, headers }).catch((error: unknown) => {
    throw unreachable(what, error);
  });
  if (status !== 200) return { status, object: undefined };
  const object = objectIn(body);
  if (object === undefined) throw new IssuerUnreachableError(what, 'the answer is no JSON object');
  return { status, object };
};

const unreachable = (what: string, error: unknown): unknown => {
  if (!(error instanceof FetchError)) return error;
  const { message, where, reason } = error;
  return new IssuerUnreachableError(what, where === '' ? message : `${message} (${where})`, {
    isClosed: reason === 'closed',
  });
};
