import type { KubeObject } from '../../object.ts';
import type { Settings } from '../settings.ts';
import { type KeyRef, secretPath } from './mounted-files.ts';

type Value = Readonly<Record<string, unknown>>;

/** `spec` of an MCPExternalAuthConfig, as the API server has checked it: the block of its type is there. */
export interface ExternalAuth {
  readonly type: string;
  readonly headerInjection?: { readonly headerName: string; readonly valueSecretRef: KeyRef };
  readonly bearerToken?: { readonly tokenSecretRef: KeyRef };
  readonly tokenExchange?: TokenExchange;
  readonly upstreamInject?: { readonly providerName: string };
  readonly cloudSts?: { readonly subjectProviderName?: string };
}

interface TokenExchange {
  readonly clientSecretRef?: KeyRef;
  readonly subjectTokenType?: string;
  readonly externalTokenHeaderName?: string;
  readonly subjectProviderName?: string;
}

export interface StrategyInput {
  readonly settings: Settings;
  /** spec: `subjectProviderName` is the first upstream provider when empty and an embedded server exists. */
  readonly upstreams: readonly string[];
}

export const externalAuth = (config: KubeObject): ExternalAuth => config['spec'] as ExternalAuth;

/**
 * What an MCPExternalAuthConfig says, as the runtime's file spells it (`outgoingAuth.backends.<name>`); undefined for what is no way of
 * authenticating to a backend.
 */
export const strategyOf = (auth: ExternalAuth, input: StrategyInput): Value | undefined =>
  Object.hasOwn(STRATEGIES, auth.type) ? STRATEGIES[auth.type]?.(auth, input) : undefined;

const STRATEGIES: Readonly<Record<string, (auth: ExternalAuth, input: StrategyInput) => Value | undefined>> = {
  unauthenticated: () => ({ type: 'unauthenticated' }),
  headerInjection: ({ headerInjection: auth }, { settings }) =>
    auth && {
      type: 'header_injection',
      headerInjection: { headerName: auth.headerName, headerValueFile: secretPath(auth.valueSecretRef, settings) },
    },
  bearerToken: ({ bearerToken: auth }, { settings }) =>
    auth && { type: 'bearer_token', bearerToken: { tokenFile: secretPath(auth.tokenSecretRef, settings) } },
  tokenExchange: ({ tokenExchange: auth }, input) =>
    auth && { type: 'token_exchange', tokenExchange: exchange(auth, input) },
  upstreamInject: ({ upstreamInject }) => upstreamInject && { type: 'upstream_inject', upstreamInject },
  cloudSts: ({ cloudSts }, input) => cloudSts && { type: 'cloud_sts', cloudSts: role(cloudSts, input) },
};

const role = (
  { subjectProviderName, ...rest }: NonNullable<ExternalAuth['cloudSts']>,
  input: StrategyInput,
): Value => ({
  ...rest,
  ...subject({ subjectProviderName }, input),
});

const exchange = (
  { clientSecretRef, subjectTokenType, externalTokenHeaderName, subjectProviderName, ...rest }: TokenExchange,
  input: StrategyInput,
): Value => ({
  ...rest,
  // A header left empty counts as left out.
  ...(externalTokenHeaderName && { externalTokenHeaderName }),
  ...(clientSecretRef && { clientSecretFile: secretPath(clientSecretRef, input.settings) }),
  ...(subjectTokenType !== undefined && { subjectTokenType: urnOf(subjectTokenType) }),
  ...subject({ subjectProviderName }, input),
});

/** spec: tokenExchange.subjectTokenType has short forms; the file has RFC 8693's own. */
const urnOf = (type: string): string => (type.includes(':') ? type : `urn:ietf:params:oauth:token-type:${type}`);

const subject = (
  { subjectProviderName }: { readonly subjectProviderName: string | undefined },
  { upstreams }: StrategyInput,
): Value => {
  const provider = subjectProviderName === undefined || subjectProviderName === '' ? upstreams[0] : subjectProviderName;
  return provider === undefined ? {} : { subjectProviderName: provider };
};

/** The upstream provider that it needs users to have logged in at. */
export const providerOf = ({ upstreamInject, tokenExchange, cloudSts }: ExternalAuth): string | undefined =>
  upstreamInject?.providerName ?? (tokenExchange ?? cloudSts)?.subjectProviderName;
