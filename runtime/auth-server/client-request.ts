import { ClientError } from './clients/client-error.ts';
import type { FindClient } from './clients/clients.ts';
import { RESPONSE_MODES } from './metadata.ts';
import type { AuthServerSettings } from './settings.ts';

/**
 * An authorization request as the OAuth part takes it. Clients that leave scopes out get what they have registered (RFC
 * 6749 §3.3), and every login asks for consent: only then does the library grant `offline_access`.
 */
export const authorizationRequest = async (
  query: URLSearchParams,
  settings: AuthServerSettings,
  findClient: (clientId: string) => ReturnType<FindClient>,
): Promise<URLSearchParams> => {
  const request = withCanonicalResource(query, settings);
  if (request.get('prompt') !== 'none') request.set('prompt', 'consent');
  const mode = request.get('response_mode') ?? '';
  if (mode !== '' && !RESPONSE_MODES.includes(mode)) request.set('response_mode', UNSUPPORTED_MODE);
  if ((request.get('scope') ?? '').trim() === '') {
    const client = await findClient(request.get('client_id') ?? '').catch(unlessUnknown);
    if (client?.scope !== undefined) request.set('scope', client.scope);
  }
  return request;
};

/** The library asks for the client, too, and has the answer for one that cannot be had. */
const unlessUnknown = (error: unknown): undefined => {
  if (!(error instanceof ClientError)) throw error;
};

/** The library answers by `form_post`, too, with a page that is none of ours; a mode of this name it refuses. */
const UNSUPPORTED_MODE = 'unsupported';

/** Prefix of the scopes by which a client asks for a sign-in at a provider (docs/sign-in.md "Step-up"). */
const STEP_UP = 'upstream:';

/**
 * The request without the scopes that name a provider, and those providers: they ask for a sign-in, and give the client
 * nothing that its token would show. A provider that does not exist is left, and refused as any unknown scope.
 */
export const withoutStepUp = (
  query: URLSearchParams,
  providers: ReadonlySet<string>,
): { readonly query: URLSearchParams; readonly asked: readonly string[] } => {
  const scopes = (query.get('scope') ?? '').split(' ');
  const named = (scope: string): string | undefined =>
    scope.startsWith(STEP_UP) && providers.has(scope.slice(STEP_UP.length)) ? scope.slice(STEP_UP.length) : undefined;
  const asked = scopes.flatMap((scope) => named(scope) ?? []);
  if (asked.length === 0) return { query, asked };
  const plain = new URLSearchParams(query);
  plain.set('scope', scopes.filter((scope) => named(scope) === undefined).join(' '));
  return { query: plain, asked: [...new Set(asked)] };
};

/**
 * The same parameters, with the canonical form of the resource (RFC 8707 §2): clients write it with and without a slash
 * at its end, and hosts in upper case.
 */
export const withCanonicalResource = (
  parameters: URLSearchParams,
  { resource, resourceForms }: Pick<AuthServerSettings, 'resource' | 'resourceForms'>,
): URLSearchParams => {
  const forms = new Set(resourceForms.flatMap((form) => [form, withoutSlash(form)]));
  const isOurs = (asked: string): boolean =>
    forms.has(asked) || forms.has(withoutSlash(URL.parse(asked)?.href ?? asked));
  const asked = parameters.getAll('resource');
  const result = new URLSearchParams(parameters);
  result.delete('resource');
  for (const each of new Set(asked.map((one) => (isOurs(one) ? resource : one)))) result.append('resource', each);
  return result;
};

const withoutSlash = (url: string): string => url.replace(/\/$/, '');
