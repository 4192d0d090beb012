import type { GuardedClient } from '../../http/index.ts';
import { askIssuer, IssuerUnreachableError } from './issuer-client.ts';

/** What an issuer publishes about itself, as far as it is used here. */
export interface IssuerMetadata {
  readonly jwksUri: string | undefined;
  readonly introspectionEndpoint: string | undefined;
}

/**
 * Reads the metadata of an issuer: as OpenID Connect Discovery §4 has it, then in the two forms of RFC 8414 §3.1 and
 * §5. The issuer in the document must be the configured one (RFC 8414 §3.3), or one issuer could pass for another.
 * Throws IssuerUnreachableError.
 */
export const discover = async (client: Pick<GuardedClient, 'fetch'>, issuer: string): Promise<IssuerMetadata> => {
  const statuses: number[] = [];
  for (const url of metadataUrlsOf(issuer)) {
    const { status, object } = await askIssuer(client, WHAT, { url });
    if (object === undefined) {
      if (status >= 500) throw new IssuerUnreachableError(WHAT, `HTTP ${status}`);
      statuses.push(status);
      continue;
    }
    if (object['issuer'] !== issuer)
      throw new IssuerUnreachableError(WHAT, 'the document is about another issuer than the configured one');
    return { jwksUri: textIn(object['jwks_uri']), introspectionEndpoint: textIn(object['introspection_endpoint']) };
  }
  throw new IssuerUnreachableError(WHAT, `no document is found (HTTP ${statuses.join(', ')})`);
};

const WHAT = 'the metadata of the issuer';

const textIn = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** The addresses of the metadata of an issuer, in the order in which they are tried. */
export const metadataUrlsOf = (issuer: string): readonly string[] => {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  return [
    ...new Set([
      `${origin}${path}/.well-known/openid-configuration`,
      `${origin}/.well-known/oauth-authorization-server${path}`,
      `${origin}/.well-known/openid-configuration${path}`,
    ]),
  ];
};
