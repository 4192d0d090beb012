import type { KubeObject } from '../../object.ts';
import { type Refusal, valueIn } from '../contract.ts';
import type { ConfigFiles } from '../plan.ts';
import { type ResolvedReference, lookUpIn } from '../references.ts';
import type { Settings } from '../settings.ts';
import { upstreamsOf } from './auth-server.ts';
import { CA_OWNERS, type KeyRef, caBundlePath, secretPath } from './mounted-files.ts';
import { originOf } from './names.ts';
import { isRefusal, policiesOf, policyRefusals } from './policies.ts';
import type { AuthzConfig, OidcConfigRef, ServerSpec } from './spec.ts';

type Value = Readonly<Record<string, unknown>>;

export interface IncomingAuthInput {
  readonly server: KubeObject;
  readonly spec: ServerSpec;
  readonly references: readonly ResolvedReference[];
  readonly settings: Settings;
  /** The files of the accepted spec, when it is that which is rendered. */
  readonly files?: ConfigFiles;
}

/** spec: `spec.incomingAuth` takes precedence over `config.incomingAuth`. With `anonymous`, nothing else counts (decisions). */
export const incomingAuth = (input: IncomingAuthInput): Value => {
  const { type, oidcConfigRef, authzConfig } = input.spec.incomingAuth;
  if (type === 'anonymous') return { type };
  const policies = authzConfig && authz(authzConfig, input);
  return {
    type,
    ...(oidcConfigRef && { oidc: oidc(oidcConfigRef, input) ?? asBefore('oidc', input) }),
    // Without policies everybody might do everything: a file that lacks them is refused.
    ...(authzConfig && { authz: policies ?? asBefore('authz', input) ?? { type: 'cedar' } }),
  };
};

/** Decisions "Last good spec": what came from a lost object stays as it was. */
const asBefore = (key: 'oidc' | 'authz', { files }: IncomingAuthInput): unknown =>
  files && (valueIn(files)['incomingAuth'] as Value | undefined)?.[key];

/** `spec` of an MCPOIDCConfig. */
interface OidcConfig {
  readonly type: 'inline' | 'clusterServiceAccount';
  readonly inline?: InlineOidc;
}

interface InlineOidc {
  readonly issuer: string;
  readonly clientId?: string;
  readonly clientSecretRef?: KeyRef;
  readonly introspectionUrl?: string;
  readonly jwksUrl?: string;
  readonly jwksAllowPrivateIP?: boolean;
  readonly protectedResourceAllowPrivateIP?: boolean;
  readonly insecureAllowHTTP?: boolean;
  readonly caBundleRef?: { readonly configMapRef: KeyRef };
}

/** spec: config.incomingAuth.oidc. Undefined while nobody knows what the reference leads to. */
const oidc = (ref: OidcConfigRef, { references, settings, server }: IncomingAuthInput): Value | undefined => {
  const target = lookUpIn(references)('MCPOIDCConfig', ref.name);
  if (target === undefined) return undefined;
  const { inline } = target['spec'] as OidcConfig;
  const source = inline === undefined ? clusterIssuer(settings) : inlineIssuer(inline, settings);
  if (source === undefined) return undefined;
  const { issuer, ...more } = source;
  return {
    issuer,
    audience: ref.audience,
    // Decisions: a source that has none gets the audience.
    clientId: (inline?.clientId ?? '') || ref.audience,
    ...more,
    resource: ref.resourceUrl ?? originOf(server, settings),
    advertisedScopes: ref.scopes ?? ['openid'],
  };
};

const inlineIssuer = (inline: InlineOidc, settings: Settings): Value => {
  const { issuer, clientSecretRef, introspectionUrl, jwksUrl, caBundleRef } = inline;
  const { jwksAllowPrivateIP, protectedResourceAllowPrivateIP, insecureAllowHTTP } = inline;
  return {
    issuer,
    ...(clientSecretRef && { clientSecretFile: secretPath(clientSecretRef, settings) }),
    ...(introspectionUrl !== undefined && { introspectionUrl }),
    ...(jwksUrl !== undefined && { jwksUrl }),
    // Casing of acronyms: resources and the file spell them differently (decisions).
    ...(jwksAllowPrivateIP === true && { jwksAllowPrivateIp: true }),
    ...(protectedResourceAllowPrivateIP === true && { protectedResourceAllowPrivateIp: true }),
    ...(insecureAllowHTTP === true && { insecureAllowHttp: true }),
    ...(caBundleRef && { caBundlePath: caBundlePath(CA_OWNERS.oidc, caBundleRef.configMapRef, settings) }),
  };
};

/** Decisions "Service-account tokens": the runtime needs no route to the API server. */
const clusterIssuer = ({ clusterIssuer }: Settings): Value | undefined =>
  clusterIssuer && { issuer: clusterIssuer.issuer, issuerKeys: { keys: clusterIssuer.keys } };

/** What speaks against serving it, beside references that lead to nothing: those are told of by conditions of their own. */
export const incomingAuthRefusals = ({ spec, references, settings, files }: IncomingAuthInput): readonly Refusal[] => {
  const { type, oidcConfigRef } = spec.incomingAuth;
  if (type === 'anonymous') return [];
  const target = oidcConfigRef && lookUpIn(references)('MCPOIDCConfig', oidcConfigRef.name);
  const isOfCluster = (target?.['spec'] as OidcConfig | undefined)?.type === 'clusterServiceAccount';
  return [
    ...(isOfCluster && settings.clusterIssuer === undefined && files === undefined
      ? [{ reason: 'Invalid', message: settings.local === undefined ? NO_ISSUER : NO_CLUSTER } as const]
      : []),
    // What was accepted goes on with the policies that it had.
    ...(files !== undefined && spec.incomingAuth.authzConfig?.inline === undefined
      ? []
      : policyRefusals(spec, references, upstreamsOf(spec))),
  ];
};

const PATH = 'spec.incomingAuth.oidcConfigRef';
const NO_ISSUER = `${PATH}: who issues the service-account tokens of this cluster is not known; let the operator read /.well-known/openid-configuration and /openid/v1/jwks of the API server, or use an MCPOIDCConfig of type inline`;
const NO_CLUSTER = `${PATH}: there is no cluster here whose service accounts could have tokens; use an MCPOIDCConfig of type inline`;

/** spec: spec.incomingAuth.authzConfig. Undefined while nobody knows the policies. */
const authz = (config: AuthzConfig, { spec, references }: IncomingAuthInput): Value | undefined => {
  const found = policiesOf(config, references);
  if (found === undefined || isRefusal(found)) return undefined;
  const { policies, entitiesJson, primaryUpstreamProvider = '' } = found;
  // Decisions: the first upstream is written into the config when there is an embedded server.
  const provider = primaryUpstreamProvider || upstreamsOf(spec)[0];
  return {
    type: 'cedar',
    policies,
    ...(entitiesJson !== undefined && { entitiesJson }),
    ...(provider !== undefined && { primaryUpstreamProvider: provider }),
  };
};

/** Certificates of the issuer, as today's references have them. */
export const oidcCaBundle = ({
  spec,
  references,
}: Pick<IncomingAuthInput, 'spec' | 'references'>): KeyRef | undefined => {
  const { oidcConfigRef } = spec.incomingAuth;
  const target = oidcConfigRef && lookUpIn(references)('MCPOIDCConfig', oidcConfigRef.name);
  return (target?.['spec'] as OidcConfig | undefined)?.inline?.caBundleRef?.configMapRef;
};
