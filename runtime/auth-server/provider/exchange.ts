import { type DispatchFunc, inject } from 'light-my-request';
import type { Provider } from 'oidc-provider';
import type { Answer } from '../answer.ts';

/** A request to the OAuth part of the authorization server. */
export interface OAuthRequest {
  readonly method: 'GET' | 'POST';
  /** Path and query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** A form. */
  readonly body?: string | undefined;
  /** Of who has sent it, as far as it is known: bounds for one address count what the request causes. */
  readonly address: string | undefined;
}

/** One request and its answer. Throws what made the server fail, where it has failed. */
export type OAuthExchange = (request: OAuthRequest) => Promise<Answer>;

/** Headers of answers that are handed on; cookies are not among them, as the browser gets those of the login only. */
const HANDED_ON = ['cache-control', 'content-type', 'location', 'pragma', 'retry-after', 'www-authenticate'];

/**
 * Requests in memory, all of them under the name of the issuer: addresses that the library writes do not depend on the
 * Host that a client has named.
 */
export const oauthExchange = (provider: Provider): OAuthExchange => {
  const { host, protocol, pathname } = new URL(provider.issuer);
  const failures = new WeakMap<object, unknown>();
  provider.on('server_error', (ctx, error) => void failures.set(ctx.req, error));
  const handle = provider.callback() as DispatchFunc;
  const mountPath = pathname.replace(/\/$/, '');
  return async ({ method, path, headers = {}, body, address }) => {
    let request: object = {};
    const answer = await inject(
      (req, res) => {
        request = req;
        // As a server above the library would: below the path of the issuer are its routes.
        if (mountPath !== '') Object.assign(req, { originalUrl: `${mountPath}${path}` });
        handle(req, res);
      },
      {
        method,
        url: path,
        headers: {
          ...Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined)),
          host,
          'x-forwarded-proto': protocol.slice(0, -1),
          accept: 'application/json',
        },
        ...(body !== undefined && { payload: body }),
        ...(address !== undefined && { remoteAddress: address }),
      },
    );
    if (failures.has(request)) throw failures.get(request);
    return { status: answer.statusCode, headers: handedOn(answer.headers), body: answer.body };
  };
};

const handedOn = (headers: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(
    HANDED_ON.flatMap((name) => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value]] : [];
    }),
  );
