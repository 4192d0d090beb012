import type { GuardedFetch } from '../../http/index.ts';
import type { Clock, ReadSecret } from '../../process/index.ts';
import type { UpstreamClient } from './client-authentication.ts';
import type { JsonObject } from './provider-http.ts';
import type { ProviderKeys } from './provider-keys.ts';
import type { ProviderMetadata } from './provider-metadata.ts';
import type { Registrations } from './registered-client.ts';
import type { AskedFor, ReadTokens } from './token-response.ts';
import type { Identity, UpstreamLogin } from './upstream.ts';

export interface UpstreamDeps {
  /** Under the policy `token`. */
  readonly fetch: GuardedFetch;
  readonly clock: Pick<Clock, 'now'>;
  readonly readSecret: ReadSecret;
  /** Where providers send the browser back to, unless their configuration says otherwise. */
  readonly redirectUri: string;
  readonly registrations: Registrations;
}

/** What differs between the types of providers. */
export interface Provider {
  readonly name: string;
  readonly redirectUri: string;
  /** Throws UpstreamError, as all here. */
  readonly metadata: () => Promise<ProviderMetadata>;
  readonly client: () => Promise<UpstreamClient>;
  readonly keys: ProviderKeys;
  /** Scopes to ask for; empty: no parameter. */
  readonly scopes: (metadata: ProviderMetadata) => readonly string[];
  readonly additionalParameters: Readonly<Record<string, string>>;
  /** It takes part in OpenID Connect: a nonce is sent. */
  readonly isOpenId: boolean;
  readonly tokensIn: (response: JsonObject, asked: AskedFor) => ReadTokens;
  readonly identify: (answered: Answered) => Promise<Identified>;
  /** Hears whether the token endpoint took this client for one that it knows. Never throws. */
  readonly told: (client: UpstreamClient, isAccepted: boolean) => Promise<void>;
  readonly origin: string;
}

/** An answer of the token endpoint. */
export interface Asked {
  readonly response: JsonObject;
  readonly tokens: ReadTokens;
}

/** A code that was redeemed. */
export interface Answered extends Asked {
  readonly nonce: string;
  readonly client: UpstreamClient;
  readonly metadata: ProviderMetadata;
}

export interface Identified {
  readonly identity: Identity;
  /** Verified. */
  readonly idToken?: string;
}

/** The tokens of a login. */
export const loginOf = ({ identity, idToken }: Identified, tokens: ReadTokens): UpstreamLogin => ({
  identity,
  tokens: { ...tokens, ...(idToken !== undefined && { idToken }) },
});
