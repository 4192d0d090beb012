import { type ClientAuth, ClientSecretPost, None } from 'oauth4webapi';
import { basicAuthorization } from '../../http/index.ts';
import type { ReadSecret } from '../../process/index.ts';
import { refused, unavailable } from './upstream.ts';

/** The client that a provider knows this server as. */
export interface UpstreamClient {
  readonly id: string;
  /** Absent for a public client. */
  readonly secret?: string;
  /** `token_endpoint_auth_method`, where it was agreed upon by registration. */
  readonly method?: string;
}

/**
 * The client of the configuration, whose secret is read at every use, so that it can rotate. Throws UpstreamError while
 * the secret is missing: without it the client would pass for a public one.
 */
export const configuredClient = async (
  {
    clientId: id,
    clientSecretFile: file,
  }: { readonly clientId: string; readonly clientSecretFile?: string | undefined },
  readSecret: ReadSecret,
): Promise<UpstreamClient> => {
  if (file === undefined) return { id };
  const secret = await readSecret({ file }).catch(() => undefined);
  if (secret === undefined)
    throw unavailable('client_secret_missing', 'the client secret is missing or cannot be read');
  return { id, secret };
};

/** Methods of client authentication, the preferred one first (RFC 6749 §2.3.1). */
const SECRET_METHODS = ['client_secret_basic', 'client_secret_post'] as const;

export interface ClientAuthentication {
  readonly method: string;
  readonly authenticate: ClientAuth;
}

/**
 * Ways by which the client may authenticate at the token endpoint, in the order in which they are tried: providers that
 * support several often let a client use one of them only, and others publish nothing.
 */
export const clientAuthentications = (
  { secret, method: agreed }: UpstreamClient,
  supported: readonly string[] | undefined,
): readonly ClientAuthentication[] => {
  if (secret === undefined || agreed === 'none') return [{ method: 'none', authenticate: None() }];
  const methods = SECRET_METHODS.filter((method) =>
    agreed === undefined ? supported?.includes(method) !== false : agreed === method,
  );
  if (methods.length === 0)
    throw refused(
      'unsupported_client_authentication',
      'the provider takes client secrets neither by client_secret_basic nor by client_secret_post',
    );
  return methods.map((method) => ({ method, authenticate: secretBy[method](secret) }));
};

const secretBy = {
  // Of the package's own function, servers that do not decode the value understand only ids of letters and digits.
  client_secret_basic:
    (secret: string): ClientAuth =>
    (_server, { client_id: id }, _body, headers) =>
      headers.set('authorization', basicAuthorization(id, secret)),
  client_secret_post: ClientSecretPost,
} as const;
