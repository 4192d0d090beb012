import { refused, unavailable, type UpstreamError } from './upstream.ts';

/**
 * Errors of RFC 6749 §4.1.2.1 and §5.2, OpenID Connect Core §3.1.2.6, RFC 7591 §3.2.2 and RFC 8707 §2. Other words
 * are not repeated: they are the provider's own text.
 */
const KNOWN: ReadonlySet<string> = new Set([
  'access_denied',
  'account_selection_required',
  'consent_required',
  'interaction_required',
  'invalid_client',
  'invalid_client_metadata',
  'invalid_grant',
  'invalid_redirect_uri',
  'invalid_request',
  'invalid_scope',
  'invalid_software_statement',
  'invalid_target',
  'invalid_token',
  'insufficient_scope',
  'login_required',
  'unapproved_software_statement',
  'unauthorized_client',
  'unsupported_grant_type',
  'unsupported_response_type',
  'unsupported_token_type',
]);

/** Words of providers that have no standard ones, with what they mean. */
const DIALECTS: Readonly<Record<string, string>> = {
  // GitHub, "Troubleshooting OAuth app access token request errors"
  bad_verification_code: 'invalid_grant',
  bad_refresh_token: 'invalid_grant',
  incorrect_client_credentials: 'invalid_client',
  redirect_uri_mismatch: 'invalid_redirect_uri',
  unverified_user_email: 'access_denied',
  // Slack: https://docs.slack.dev/reference/methods/oauth.v2.access
  invalid_code: 'invalid_grant',
  code_expired: 'invalid_grant',
  code_already_used: 'invalid_grant',
  invalid_refresh_token: 'invalid_grant',
  token_expired: 'invalid_grant',
  token_revoked: 'invalid_grant',
  account_inactive: 'access_denied',
  bad_client_secret: 'invalid_client',
  invalid_client_id: 'invalid_client',
  bad_redirect_uri: 'invalid_redirect_uri',
};

/** Words of a provider that is away for now. The last two are Slack's. */
const AWAY: ReadonlySet<string> = new Set([
  'server_error',
  'temporarily_unavailable',
  'slow_down',
  'ratelimited',
  'internal_error',
  'fatal_error',
]);

/** The error for a word by which a provider says no. */
export const saidNo = (what: string, word: string): UpstreamError => {
  if (AWAY.has(word)) return unavailable('temporarily_unavailable', `${what}: the provider is away for now`);
  const code = codeOf(word);
  return refused(code, `${what}: the provider refuses it: ${code}`);
};

const codeOf = (word: string): string => {
  if (KNOWN.has(word)) return word;
  return Object.hasOwn(DIALECTS, word) ? (DIALECTS[word] ?? 'refused') : 'refused';
};
