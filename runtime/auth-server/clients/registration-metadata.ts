import * as z from 'zod';
import { plainText } from '../plain-text.ts';
import { redirectUriRefusal } from './redirect-uris.ts';

/** How a client proves itself at the token endpoint. */
export type AuthMethod = 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt';

/** What is kept of a client's metadata (RFC 7591 §2); the rest is ignored. */
export interface Registration {
  readonly redirectUris: readonly string[];
  readonly clientName: string | undefined;
  /** Undefined: the client named none. */
  readonly scopes: readonly string[] | undefined;
  readonly mayRefresh: boolean;
  readonly authMethod: AuthMethod;
}

/** RFC 7591 §3.2.2. `reason` is for the client's author, and holds nothing of the metadata but names of members. */
export interface Refusal {
  readonly error: 'invalid_redirect_uri' | 'invalid_client_metadata';
  readonly reason: string;
}

export const isRefusal = (outcome: object): outcome is Refusal => 'reason' in outcome;

export interface RegistrationRules {
  readonly redirectUris: number;
  readonly authMethods: readonly AuthMethod[];
}

/** Longest name that is kept, in code points; a longer one is cut. */
export const MAX_NAME_CHARACTERS = 100;
const MAX_SCOPES = 256;
const MAX_SCOPE_CHARACTERS = 256;

const words = z.array(z.string().max(256)).max(64).optional();

/** Members of another type are mistakes of the client; unknown members are not looked at (RFC 7591 §2). */
const metadataSchema = z.object({
  redirect_uris: z.array(z.string()).optional(),
  client_name: z.string().optional(),
  scope: z.string().optional(),
  grant_types: words,
  response_types: words,
  token_endpoint_auth_method: z.string().optional(),
});

/** Checks the metadata of a client, as it was registered or published. */
export const readRegistration = (metadata: unknown, rules: RegistrationRules): Registration | Refusal => {
  const { data, error } = metadataSchema.safeParse(metadata);
  if (!data) return invalid(`${String(error.issues[0]?.path[0] ?? 'the metadata')} is not of the type it has to be`);
  const redirectUris = [...new Set(data.redirect_uris)];
  const method = rules.authMethods.find((name) => name === (data.token_endpoint_auth_method ?? 'none'));
  const refusal =
    redirectUrisRefusal(redirectUris, rules) ??
    (method ? undefined : invalid(`token_endpoint_auth_method has to be one of ${rules.authMethods.join(', ')}`)) ??
    flowRefusal(data.grant_types, data.response_types);
  if (refusal) return refusal;
  const scopes = scopesIn(data.scope);
  if (scopes && isRefusal(scopes)) return scopes;
  return {
    redirectUris,
    clientName: plainText(data.client_name ?? '', MAX_NAME_CHARACTERS) || undefined,
    scopes,
    // A client that does not say is better off with refresh tokens, which RFC 7591 §2 would leave out.
    mayRefresh: data.grant_types?.includes('refresh_token') ?? true,
    authMethod: method ?? 'none',
  };
};

const invalid = (reason: string): Refusal => ({ error: 'invalid_client_metadata', reason });

const redirectUrisRefusal = (uris: readonly string[], rules: RegistrationRules): Refusal | undefined => {
  const reason = reasonAgainst(uris, rules.redirectUris);
  return reason === undefined ? undefined : { error: 'invalid_redirect_uri', reason };
};

const reasonAgainst = (uris: readonly string[], most: number): string | undefined => {
  if (uris.length === 0) return 'redirect_uris has to name at least one redirect URI';
  if (uris.length > most) return `redirect_uris has more than ${most} redirect URIs`;
  for (const uri of uris) {
    const reason = redirectUriRefusal(uri);
    if (reason !== undefined) return reason;
  }
  return undefined;
};

/** Further grants and responses are left out, not refused: clients list what they can do elsewhere, too. */
const flowRefusal = (
  grants: readonly string[] = ['authorization_code'],
  responses: readonly string[] = ['code'],
): Refusal | undefined => {
  if (!grants.includes('authorization_code')) return invalid('grant_types has to contain authorization_code');
  return responses.includes('code') ? undefined : invalid('response_types has to contain code');
};

/** RFC 6749 §3.3. */
const SCOPE = /^[\x21\x23-\x5B\x5D-\x7E]+$/;

/** An empty scope counts as none named. */
const scopesIn = (text: string | undefined): readonly string[] | Refusal | undefined => {
  const scopes = [...new Set(text?.split(' ').filter((scope) => scope !== ''))];
  if (scopes.length === 0) return undefined;
  if (scopes.length > MAX_SCOPES) return invalid(`scope names more than ${MAX_SCOPES} scopes`);
  const areWords = scopes.every((scope) => scope.length <= MAX_SCOPE_CHARACTERS && SCOPE.test(scope));
  return areWords ? scopes : invalid('scope has to be words with spaces between them (RFC 6749 §3.3)');
};
