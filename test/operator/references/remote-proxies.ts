import { type Row, type Target, authConfig, authServer, configMap, issuer, key, policy, secret } from './row.ts';

const proxy = (name: string, spec: object, target: Target, subject: string): Row => ({
  referrer: ['MCPRemoteProxy', name, { remoteUrl: 'https://tools.example.com/mcp', ...spec }],
  targets: [target],
  subject,
  phases: {},
  server: name,
  afterwards: 'kept',
});

/** It waits, and what was accepted goes on: this kind knows no `Degraded`. */
const awaited = { missing: 'Pending', found: 'Ready', deleted: 'Ready' };
/** Reported in a condition, and not needed by any server. */
const unmissed = { missing: 'Ready', found: 'Ready', deleted: 'Ready' };

const oidc = (name: string) => ({ oidcConfigRef: { name, audience: 'a' } });
const embedded = (clientId: string) => ({
  type: 'embeddedAuthServer',
  embeddedAuthServer: {
    issuer: authServer('proxy').issuer,
    upstreamProviders: [
      { name: 'corp', type: 'oidc', oidcConfig: { issuerUrl: 'https://corp.example.com', clientId } },
    ],
  },
});

export const REMOTE_PROXIES: readonly Row[] = [
  {
    ...proxy(
      'proxy-group',
      { groupRef: { name: 'proxied' } },
      { made: ['MCPGroup', 'proxied', {}], changed: {} },
      'Group',
    ),
    phases: unmissed,
  },
  {
    ...proxy(
      'proxy-oidc',
      oidc('proxy-oidc'),
      { made: ['MCPOIDCConfig', 'proxy-oidc', issuer('one')], changed: issuer('two') },
      'OIDCConfig',
    ),
    phases: awaited,
  },
  {
    ...proxy(
      'proxy-policies',
      { ...oidc('shared-oidc'), authzConfig: { type: 'configMap', configMap: { name: 'proxy-policies' } } },
      configMap('proxy-policies', 'authz.json', policy('permit'), policy('forbid')),
      'ConfigMap',
    ),
    phases: awaited,
  },
  {
    ...proxy(
      'proxy-login',
      { ...oidc('shared-oidc'), authServerRef: { name: 'proxy-login' } },
      { made: ['MCPExternalAuthConfig', 'proxy-login', embedded('one')], changed: embedded('two') },
      'ExternalAuthConfig',
    ),
    phases: awaited,
  },
  {
    ...proxy(
      'proxy-auth',
      { externalAuthConfigRef: { name: 'proxy-auth' } },
      authConfig('proxy-auth'),
      'ExternalAuthConfig',
    ),
    phases: { found: 'Ready', deleted: 'Pending' },
    afterwards: 'withheld',
  },
  {
    ...proxy(
      'proxy-header',
      { headerForward: { addHeadersFromSecret: [{ headerName: 'X-A', valueSecretRef: key('proxy-header') }] } },
      secret('proxy-header'),
      'Secret',
    ),
    phases: unmissed,
  },
];
