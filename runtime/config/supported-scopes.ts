import { isRecord } from './schema-walk.ts';

/** Scopes that every authorization server has: docs/decisions.md "Scopes of the authorization server" */
const DEFAULT_SCOPES = ['openid', 'profile', 'email', 'offline_access'] as const;

/**
 * Scopes that clients of the authorization server may ask for: the default ones, those of the upstream providers, and
 * those that incoming auth asks tokens for. Takes the file as written, or as it is read.
 */
export const supportedScopes = (file: Readonly<Record<string, unknown>>): readonly string[] => {
  const providers = listIn(field(file['authServer'], 'upstreamProviders'));
  const oidc = field(file['incomingAuth'], 'oidc');
  const ofProviders = providers.flatMap((provider) => {
    const { oidcConfig, oauth2Config } = isRecord(provider) ? provider : {};
    return listIn(field(oidcConfig ?? oauth2Config, 'scopes'));
  });
  const all = [
    ...DEFAULT_SCOPES,
    ...ofProviders,
    ...listIn(field(oidc, 'scopes')),
    ...listIn(field(oidc, 'advertisedScopes')),
  ];
  return [...new Set(all.filter((scope) => typeof scope === 'string'))];
};

const field = (value: unknown, key: string): unknown => (isRecord(value) ? value[key] : undefined);

const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
