import type { Case } from '../case.ts';
import { casesOf } from '../case.ts';

/** The two places that hold an EmbeddedAuthServerConfig; each case is tried in both. */
export const places = [
  {
    kind: 'VirtualMCPServer',
    path: 'authServerConfig',
    around: (config: unknown) => ({
      incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'login', audience: 'tools' } },
      authServerConfig: config,
    }),
  },
  {
    kind: 'MCPExternalAuthConfig',
    path: 'embeddedAuthServer',
    around: (config: unknown) => ({ '': { type: 'embeddedAuthServer', embeddedAuthServer: config } }),
  },
] as const;

export type Fields = Readonly<Record<string, unknown>>;

export const oidcProvider = {
  name: 'idp',
  type: 'oidc',
  oidcConfig: { issuerUrl: 'https://idp.example.com', clientId: 'vmcp' },
};
const endpoints = {
  authorizationEndpoint: 'https://git.example.com/authorize',
  tokenEndpoint: 'https://git.example.com/token',
};
export const oauth2Provider = { name: 'git', type: 'oauth2', oauth2Config: { ...endpoints, clientId: 'vmcp' } };
export const smallest = { issuer: 'https://auth.example.com', upstreamProviders: [oidcProvider] };

const SHAPE = 'authserver.shared-shape';

export const accepts = (of: readonly string[], changes: Fields, stored: Fields = {}): readonly Case[] =>
  places.map(({ kind, path, around }) =>
    casesOf(kind).accepts(
      { of: [SHAPE, ...of], set: around({ ...smallest, ...changes }) },
      Object.fromEntries(Object.entries(stored).map(([key, value]) => [`${path}.${key}`, value])),
    ),
  );

export const refuses = (of: readonly string[], changes: Fields, at: string, words: string): readonly Case[] =>
  places.map(({ kind, path, around }) =>
    casesOf(kind).refuses(
      { of: [SHAPE, ...of], set: around({ ...smallest, ...changes }) },
      at === '' ? `spec.${path}` : `spec.${path}.${at}`,
      words,
    ),
  );

export const provider = (changes: Fields) => ({ upstreamProviders: [{ ...oidcProvider, ...changes }] });
export const oidc = (changes: Fields) => provider({ oidcConfig: { ...oidcProvider.oidcConfig, ...changes } });
export const oauth2 = (changes: Fields) => ({
  upstreamProviders: [{ ...oauth2Provider, oauth2Config: { ...oauth2Provider.oauth2Config, ...changes } }],
});
export const dcr = (dcrConfig: Fields, changes: Fields = {}) => oauth2({ clientId: undefined, dcrConfig, ...changes });
export const identity = (changes: Fields) => oauth2({ identityFromToken: { subjectPath: 'user.id', ...changes } });

export const PROVIDER = 'upstreamProviders[0]';
export const OIDC = `${PROVIDER}.oidcConfig`;
export const OAUTH2 = `${PROVIDER}.oauth2Config`;
export const DCR = `${OAUTH2}.dcrConfig`;
