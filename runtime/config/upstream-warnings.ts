import type { Config, UpstreamProviderConfig } from './load.ts';
import { isPlainBeyondLoopback } from './plain-http.ts';

/**
 * An issuer with TLS is behind a proxy that ends it: without its address all users share what is allowed to one
 * (docs/limits.md "Clients").
 */
export function* proxyWarnings({ authServer, extensions: { trustedProxies } }: Config): Generator<string> {
  if (authServer === undefined || trustedProxies.length > 0 || new URL(authServer.issuer).protocol !== 'https:') return;
  yield 'extensions.trustedProxies: all users count as one client address, that of the proxy in front, so that one of them can use up what the others may do; name the addresses of the proxy';
}

/** Valid settings of providers by which every sign-in fails, or that have no effect. */
export function* upstreamWarnings({ authServer }: Config): Generator<string> {
  for (const [index, provider] of (authServer?.upstreamProviders ?? []).entries())
    for (const [path, what] of doubtsOf(provider)) yield `authServer.upstreamProviders[${index}].${path}: ${what}`;
}

/** The aliases of Microsoft Entra: docs/upstream-providers.md "Microsoft Entra" */
const OF_MANY_TENANTS =
  /^https:\/\/login\.(?:microsoftonline\.(?:com|us)|partner\.microsoftonline\.cn)\/(?:common|organizations|consumers)(?:\/|$)/i;

function* doubtsOf({ oidcConfig, oauth2Config }: UpstreamProviderConfig): Generator<readonly [string, string]> {
  if (oidcConfig && !oidcConfig.scopes.includes('openid') && oidcConfig.userInfoOverride === undefined)
    yield ['oidcConfig.scopes', 'without openid the provider sends no ID token, so every sign-in fails; add openid'];
  if (oidcConfig && OF_MANY_TENANTS.test(oidcConfig.issuerUrl))
    yield [
      'oidcConfig.issuerUrl',
      'many tenants share this address, whose metadata names another issuer, so every sign-in fails; write the id of one tenant in its path',
    ];
  if (oauth2Config?.dcrConfig && oauth2Config.clientSecretFile !== undefined)
    yield [
      'oauth2Config.clientSecretFile',
      'has no effect, since dcrConfig registers a client with a secret of its own',
    ];
  const addresses = [
    ['oidcConfig.userInfoOverride.endpointUrl', oidcConfig?.userInfoOverride?.endpointUrl],
    ['oauth2Config.tokenEndpoint', oauth2Config?.tokenEndpoint],
    ['oauth2Config.userInfo.endpointUrl', oauth2Config?.userInfo?.endpointUrl],
  ] as const;
  for (const [path, url] of addresses)
    if (url !== undefined && isPlainBeyondLoopback(url))
      yield [path, 'without TLS only loopback addresses are asked, so every sign-in fails elsewhere; use https://'];
}
