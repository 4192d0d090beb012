import { specOf } from '../../../../crds/index.ts';
import { blockOf, everyStrategy } from '../../../../runtime/config/index.ts';
import type { KubeObject } from '../../../object.ts';
import type { ServerSpec } from '../../server-spec.ts';
import type { Settings } from '../../settings.ts';
import { urlOf } from '../objects/names.ts';
import { upstreamsOf } from './auth-server.ts';
import {
  type BackendAuth,
  type BackendAuthInput,
  configNamed,
  invalidConfig,
  missingUpstreamProvider,
} from './named-auth.ts';
import { type ExternalAuth, providerOf, strategyOf } from './strategy.ts';

/*
 * The reference of an MCPRemoteProxy in a group (docs/outgoing-auth-kubernetes.md "Through a proxy"). The remote server
 * gets one credential, whichever way a call comes: the proxy adds what is the same for all callers. What depends on the
 * caller needs to know who that is: a proxy that checks tokens does, one that does not is handed the credential, or
 * what it is made from, by the VirtualMCPServer.
 */

type Value = Readonly<Record<string, unknown>>;

/** Whether this is where the proxy itself answers: a mapping, or an entry of `config.backends`, may lead past it. */
export const isTheProxy = (member: KubeObject, url: string | undefined, settings: Settings): boolean =>
  member.kind === 'MCPRemoteProxy' && isAtItsService(member, url, settings);

/** Whether this is where the Service of the member leads; entries have none. */
export const isAtItsService = (member: KubeObject, url: string | undefined, settings: Settings): boolean =>
  member.kind !== 'MCPServerEntry' &&
  settings.local === undefined &&
  url !== undefined &&
  URL.canParse(url) &&
  new URL(url).origin === new URL(urlOf(member, settings)).origin;

/** What a VirtualMCPServer sends to a proxy that has this config for the remote server. */
export const throughProxy = (
  configName: string,
  proxy: KubeObject,
  { spec, authConfigs, settings }: BackendAuthInput,
): BackendAuth => {
  const { auth, problem } = configNamed(configName, authConfigs);
  if (auth === undefined) return { configName, problem };
  const { type } = auth;
  if (strategyOf(auth, { settings, upstreams: [] }) === undefined) {
    const why = `type ${type} is for clients; name a config of another type in spec.externalAuthConfigRef`;
    return { configName, type, problem: invalidConfig(configName, why) };
  }
  const { oidcConfigRef } = specOf('MCPRemoteProxy', proxy);
  if (oidcConfigRef !== undefined) return { configName, type, ...toKnownCallers(proxy, auth, spec) };
  if (!isOfCaller(auth)) return { configName, type, strategy: NOTHING };
  const missing = missingUpstreamProvider(configName, auth, spec);
  if (missing !== undefined) return { configName, type, problem: missing };
  return { configName, type, strategy: handedOver(auth, { settings, upstreams: upstreamsOf(spec) }), isRelayed: true };
};

const NOTHING: Value = { type: 'unauthenticated' };
const OWN_TOKEN: Value = { type: 'token_relay', tokenRelay: {} };

/** Whether its credential depends on the caller: such strategies are made from a token of the user's. */
const isOfCaller = (auth: ExternalAuth): boolean =>
  everyStrategy.some(([name, { provider }]) => name === auth.type && provider !== undefined);

/** A token that is for both is not passed on to anybody it was not made for. */
const toKnownCallers = (
  proxy: KubeObject,
  auth: ExternalAuth,
  { incomingAuth }: ServerSpec,
): Pick<BackendAuth, 'strategy' | 'problem'> => {
  const { oidcConfigRef: theirs } = specOf('MCPRemoteProxy', proxy);
  const { type, oidcConfigRef: ours } = incomingAuth;
  const isSame = type === 'oidc' && ours?.name === theirs?.name && ours?.audience === theirs?.audience;
  if (isSame) return { strategy: OWN_TOKEN };
  if (!isOfCaller(auth)) return { strategy: NOTHING };
  const { name } = proxy.metadata;
  const message = `it needs to know the user, and takes tokens for the audience ${theirs?.audience ?? ''} alone, which the callers of this server have none of; let outgoingAuth.backends.${name} name an MCPExternalAuthConfig that gets one`;
  return { problem: { reason: 'AuthConfigInvalid', message } };
};

interface HandedInput {
  readonly settings: Settings;
  readonly upstreams: readonly string[];
}

/**
 * What depends on the caller alone is made here, where the caller is known; what is made of the request itself has to
 * be made where that is sent, of the token that is handed over.
 */
const handedOver = (auth: ExternalAuth, input: HandedInput): Value => {
  if (auth.type !== SIGNING) return strategyOf(withoutHeader(auth), input) ?? OWN_TOKEN;
  const providerName = providerOf(auth) || input.upstreams[0];
  return providerName === undefined ? OWN_TOKEN : { type: 'upstream_inject', upstreamInject: { providerName } };
};

/** It covers host and body of the request. */
const SIGNING = 'cloudSts';

/** On the way to the proxy the token goes in the one header that the proxy looks for. */
const withoutHeader = (auth: ExternalAuth): ExternalAuth => {
  if (auth.tokenExchange === undefined) return auth;
  const { externalTokenHeaderName: _header, ...tokenExchange } = auth.tokenExchange;
  return { ...auth, tokenExchange };
};

/** Whether a proxy with this spec passes on what it is handed: it checks no tokens, and is in a group. */
export const relaysCredentials = (
  { oidcConfigRef, groupRef }: { readonly oidcConfigRef?: unknown; readonly groupRef?: unknown },
  auth: ExternalAuth | undefined,
): boolean => oidcConfigRef === undefined && groupRef !== undefined && auth !== undefined && isOfCaller(auth);

/** What such a proxy does with it: the counterpart of `handedOver`. */
export const relayedStrategy = (auth: ExternalAuth, settings: Settings): Value => {
  const headerName = auth.tokenExchange?.externalTokenHeaderName ?? '';
  if (auth.type !== SIGNING) return { ...OWN_TOKEN, tokenRelay: headerName === '' ? {} : { headerName } };
  // The token that is handed over is the provider's already.
  const { subjectProviderName: _provider, ...cloudSts } = blockOf(auth, SIGNING) ?? {};
  return strategyOf({ ...auth, cloudSts } as ExternalAuth, { settings, upstreams: [] }) ?? NOTHING;
};
