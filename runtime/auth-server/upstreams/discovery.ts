import type { GuardedFetch } from '../../http/index.ts';
import { askProvider, type JsonObject, objectIn } from './provider-http.ts';
import type { ProviderMetadata } from './provider-metadata.ts';
import { refused, unavailable } from './upstream.ts';

/** A metadata document (RFC 8414 §2), as far as it is used here. */
export interface MetadataDocument extends Omit<ProviderMetadata, 'issuer' | 'isIssuerKnown'> {
  readonly issuer?: string;
}

/** Reads a metadata document by one GET of exactly this URL. Throws UpstreamError. */
export const readMetadata = async (fetch: GuardedFetch, url: string): Promise<MetadataDocument> => {
  const { status, body } = await askProvider(fetch, WHAT, { url, headers: { accept: 'application/json' } });
  if (status !== 200) throw unavailable(`http_${status}`, `${WHAT}: HTTP ${status}`);
  const document = objectIn(WHAT, body.toString());
  return {
    ...pick(document, TEXTS, (value) => (typeof value === 'string' && value !== '' ? value : undefined)),
    ...pick(document, LISTS, (value) => (isListOfTexts(value) ? value.slice(0, MAX_ITEMS) : undefined)),
    ...pick(document, FLAGS, (value) => (typeof value === 'boolean' ? value : undefined)),
  };
};

const WHAT = 'the metadata of the provider';

/**
 * Reads the metadata of an OpenID provider (OpenID Connect Discovery 1.0 §4). The document has to be about this very
 * issuer (§4.3), or one provider could pass for another. Throws UpstreamError.
 */
export const discoverOpenIdProvider = async (fetch: GuardedFetch, issuerUrl: string): Promise<ProviderMetadata> => {
  const url = new URL(issuerUrl);
  url.pathname = `${url.pathname.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const { issuer, ...document } = await readMetadata(fetch, url.href);
  if (issuer === undefined) throw refused('issuer_mismatch', `${WHAT}: the document names no issuer`);
  // Entra names the issuer of many tenants with a placeholder.
  if (issuer.includes('{'))
    throw refused(
      'issuer_mismatch',
      `${WHAT}: issuerUrl is shared by many tenants; write that of one tenant, with its id in place of ${ALIASES}`,
    );
  if (URL.parse(issuer)?.href !== new URL(issuerUrl).href)
    throw refused('issuer_mismatch', `${WHAT}: the document is about another issuer than issuerUrl`);
  return { ...document, issuer, isIssuerKnown: true };
};

const ALIASES = 'common or organizations';

const TEXTS = [
  'issuer',
  'authorization_endpoint',
  'token_endpoint',
  'userinfo_endpoint',
  'jwks_uri',
  'registration_endpoint',
  'revocation_endpoint',
] as const;
const LISTS = ['token_endpoint_auth_methods_supported', 'scopes_supported'] as const;
const FLAGS = ['authorization_response_iss_parameter_supported'] as const;
const MAX_ITEMS = 256;

/** The members with these names that have a value of the right kind. */
const pick = <K extends string, V>(
  document: JsonObject,
  names: readonly K[],
  read: (value: unknown) => V | undefined,
): { readonly [name in K]?: V } => {
  const found = names.map((name) => [name, read(document[name])] as const).filter(([, value]) => value !== undefined);
  return Object.fromEntries(found) as { readonly [name in K]?: V };
};

const isListOfTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');
