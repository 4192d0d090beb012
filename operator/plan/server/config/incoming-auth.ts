import { type SpecOf, specOf } from '../../../../crds/index.ts';
import type { Refusal } from '../../contract.ts';
import { lookUpIn } from '../../references.ts';
import type { OidcConfigRef, ServerSpec } from '../../server-spec.ts';
import type { Settings } from '../../settings.ts';
import type { KeyRef } from '../bundle.ts';
import { CA_OWNERS, caBundlePath, secretPath } from '../objects/mounted-files.ts';
import { originOf } from '../objects/names.ts';
import { upstreamsOf } from './auth-server.ts';
import { type PartInput, type Value, before } from './part.ts';
import { type KnownPolicies, policiesOf } from './policies.ts';

/** Who is let in, and what speaks against serving that way. */
export interface IncomingAuth {
  /** As the file says it. */
  readonly value: Value;
  /** Beside references that lead to nothing, which have conditions of their own. */
  readonly refusals: readonly Refusal[];
  /** Certificates of the issuer, as today's references have them. */
  readonly caBundle: KeyRef | undefined;
}

/**
 * docs/decisions.md "Spec before config". With `anonymous`, nothing else counts: docs/decisions.md "Anonymous access"
 */
export const incomingAuth = (input: PartInput): IncomingAuth => {
  const { incomingAuth: asked, relaysCredentials } = input.spec;
  const { type, oidcConfigRef, authzConfig } = asked;
  if (type === 'anonymous') {
    const value = { type, ...(relaysCredentials && { relaysCredentials }) };
    return { value, refusals: [], caBundle: undefined };
  }
  const issuer = oidcConfigRef && oidcConfigOf(oidcConfigRef, input);
  const known = authzConfig && policiesOf(authzConfig, input.references);
  return {
    value: {
      type,
      ...(oidcConfigRef && { oidc: (issuer && oidc(oidcConfigRef, issuer, input)) ?? asBefore('oidc', input) }),
      // Without policies every caller might do everything: a file that lacks them is refused.
      ...(known && { authz: enforced(known, input) ?? asBefore('authz', input) ?? { type: 'cedar' } }),
    },
    refusals: [...issuerRefusals(issuer, input), ...policyRefusals(known, input)],
    caBundle: issuer?.inline?.caBundleRef?.configMapRef,
  };
};

const asBefore = (key: 'oidc' | 'authz', input: PartInput): unknown =>
  (before(input, 'incomingAuth') as Value | undefined)?.[key];

type OidcConfig = SpecOf<'MCPOIDCConfig'>;
type InlineOidc = NonNullable<OidcConfig['inline']>;

const oidcConfigOf = ({ name }: OidcConfigRef, { references }: PartInput): OidcConfig | undefined => {
  const config = lookUpIn(references)('MCPOIDCConfig', name);
  return config && specOf('MCPOIDCConfig', config);
};

/** `oidc` of docs/configuration.md "incomingAuth". Undefined while the issuer is not known. */
const oidc = (ref: OidcConfigRef, { inline }: OidcConfig, { settings, server }: PartInput): Value | undefined => {
  const source = inline === undefined ? clusterIssuer(settings) : inlineIssuer(inline, settings);
  if (source === undefined) return undefined;
  const { issuer, ...more } = source;
  return {
    issuer,
    audience: ref.audience,
    // A source that has none gets the audience: docs/decisions.md "Audience and client id"
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
    // docs/decisions.md "Spelling in resources and in the file"
    ...(jwksAllowPrivateIP === true && { jwksAllowPrivateIp: true }),
    ...(protectedResourceAllowPrivateIP === true && { protectedResourceAllowPrivateIp: true }),
    ...(insecureAllowHTTP === true && { insecureAllowHttp: true }),
    ...(caBundleRef && { caBundlePath: caBundlePath(CA_OWNERS.oidc, caBundleRef.configMapRef, settings) }),
  };
};

/** docs/decisions.md "Tokens of service accounts": the runtime needs no route to the API server. */
const clusterIssuer = ({ clusterIssuer }: Settings): Value | undefined =>
  clusterIssuer && { issuer: clusterIssuer.issuer, issuerKeys: { keys: clusterIssuer.keys } };

const issuerRefusals = (
  issuer: OidcConfig | undefined,
  { settings, files, references }: PartInput,
): readonly Refusal[] => {
  const isKnown = issuer?.type !== 'clusterServiceAccount' || settings.clusterIssuer !== undefined;
  if (isKnown || files !== undefined) return [];
  const { path = '' } = references.find(({ kind }) => kind === 'MCPOIDCConfig') ?? {};
  return [{ reason: 'Invalid', message: `${path}: ${settings.local === undefined ? NO_ISSUER : NO_CLUSTER}` }];
};

const NO_ISSUER = `who issues the service-account tokens of this cluster is not known; let the operator read /.well-known/openid-configuration and /openid/v1/jwks of the API server, or use an MCPOIDCConfig of type inline`;
const NO_CLUSTER = `there is no cluster here whose service accounts could have tokens; use an MCPOIDCConfig of type inline`;

/** What was accepted goes on with the policies that it had. */
const policyRefusals = (known: KnownPolicies | undefined, { files }: PartInput): readonly Refusal[] =>
  files === undefined ? (known?.refusals ?? []) : [];

/**
 * `spec.incomingAuth.authzConfig` of docs/resources.md "VirtualMCPServer". Undefined while the policies are not known.
 */
const enforced = ({ policies: known }: KnownPolicies, { spec }: PartInput): Value | undefined => {
  if (known === undefined) return undefined;
  const { policies, entitiesJson } = known;
  // The first upstream is written into the config: docs/decisions.md "Upstream provider for policies"
  const provider = honouredProvider(spec) || upstreamsOf(spec)[0];
  return {
    type: 'cedar',
    policies,
    ...(entitiesJson !== undefined && { entitiesJson }),
    ...(provider !== undefined && { primaryUpstreamProvider: provider }),
  };
};

/**
 * docs/decisions.md "Upstream provider for policies": a ConfigMap's is not honoured, and a front has one upstream at
 * most, and what it names is ignored.
 */
const honouredProvider = ({ isFront, incomingAuth: { authzConfig } }: ServerSpec): string =>
  isFront === true ? '' : (authzConfig?.inline?.primaryUpstreamProvider ?? '');
