import type { Config, UpstreamProviderConfig } from './load.ts';
import { isPlainBeyondLoopback } from './plain-http.ts';

/** Valid settings of providers by which every sign-in fails, or that have no effect. */
export function* upstreamWarnings({ authServer }: Config): Generator<string> {
  for (const [index, provider] of (authServer?.upstreamProviders ?? []).entries())
    for (const [path, what] of doubtsOf(provider)) yield `authServer.upstreamProviders[${index}].${path}: ${what}`;
}

function* doubtsOf({ oidcConfig, oauth2Config }: UpstreamProviderConfig): Generator<readonly [string, string]> {
  if (oidcConfig && !oidcConfig.scopes.includes('openid') && oidcConfig.userInfoOverride === undefined)
    yield ['oidcConfig.scopes', 'without openid the provider sends no ID token, so every sign-in fails; add openid'];
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
