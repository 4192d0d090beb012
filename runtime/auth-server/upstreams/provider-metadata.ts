import type { Clock } from '../../process/index.ts';
import { UpstreamError } from './upstream.ts';

/**
 * What is known of a provider (RFC 8414 §2). Where `isIssuerKnown` is false, `issuer` is only the origin of its
 * authorization endpoint.
 */
export type ProviderMetadata = {
  readonly issuer: string;
  readonly isIssuerKnown: boolean;
  readonly authorization_endpoint?: string;
  readonly token_endpoint?: string;
  readonly userinfo_endpoint?: string;
  readonly jwks_uri?: string;
  readonly registration_endpoint?: string;
  readonly revocation_endpoint?: string;
  readonly token_endpoint_auth_methods_supported?: string[];
  readonly scopes_supported?: string[];
  readonly authorization_response_iss_parameter_supported?: boolean;
};

/** Age at which metadata is fetched again. */
export const METADATA_AGE_MS = 3_600_000;
/** Time between attempts while they fail. */
export const METADATA_COOL_DOWN_MS = 2_000;

interface Known {
  readonly metadata: ProviderMetadata;
  readonly at: number;
}

/**
 * Metadata that is fetched at the first use and when it is old, in one request that all who wait share. While a newer
 * one cannot be had, the known one goes on.
 */
export const cachedMetadata = (
  fetchMetadata: () => Promise<ProviderMetadata>,
  { now }: Pick<Clock, 'now'>,
): (() => Promise<ProviderMetadata>) => {
  let known: Known | undefined;
  let failure: { readonly error: UpstreamError; readonly at: number } | undefined;
  let attempt: Promise<ProviderMetadata> | undefined;
  const fetchNow = async (): Promise<ProviderMetadata> => {
    try {
      const metadata = await fetchMetadata();
      known = { metadata, at: now() };
      failure = undefined;
      return metadata;
    } catch (error) {
      if (error instanceof UpstreamError) failure = { error, at: now() };
      throw error;
    }
  };
  const isCoolingDown = (): boolean => failure !== undefined && now() - failure.at < METADATA_COOL_DOWN_MS;
  const renewed = (): Promise<ProviderMetadata> => {
    attempt ??= fetchNow().finally(() => {
      attempt = undefined;
    });
    return attempt;
  };
  return async () => {
    if (!known) {
      if (failure && isCoolingDown()) throw failure.error;
      return renewed();
    }
    if (now() - known.at >= METADATA_AGE_MS && !isCoolingDown()) void renewed().catch(() => {});
    return known.metadata;
  };
};
