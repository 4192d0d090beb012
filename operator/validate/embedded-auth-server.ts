import { type FieldsOf, fieldsOf, type ResourceProblem, type SpecOf, specOf } from '../../crds/index.ts';
import type { KubeObject } from '../object.ts';
import { type LookUp, type Validator, type Violation, violation } from './validator.ts';

type EmbeddedAuthServer = NonNullable<SpecOf<'VirtualMCPServer'>['authServerConfig']>;

const WITH_SERVER = ['MCPExternalAuthConfig', 'VirtualMCPServer'] as const;

/** `embeddedAuthServer` of docs/resources.md "MCPExternalAuthConfig", wherever it is written. */
export const embeddedAuthServer: Validator = {
  kinds: WITH_SERVER,
  validate: (object) => {
    const places = fieldsOf(WITH_SERVER, object);
    return [
      ...unsupportedScopes('spec.embeddedAuthServer', places.embeddedAuthServer),
      ...unsupportedScopes('spec.authServerConfig', places.authServerConfig),
    ];
  },
};

/** docs/decisions.md "Scopes of the authorization server" */
const DEFAULT_SCOPES = ['openid', 'profile', 'email', 'offline_access'];

/** docs/decisions.md "Scopes of the authorization server" */
const unsupportedScopes = (path: string, server: EmbeddedAuthServer | undefined): readonly Violation[] => {
  const { baselineClientScopes = [], upstreamProviders = [] } = server ?? {};
  const supported = new Set([
    ...DEFAULT_SCOPES,
    ...upstreamProviders.flatMap(({ oidcConfig, oauth2Config }) => (oidcConfig ?? oauth2Config)?.scopes ?? []),
  ]);
  return baselineClientScopes.flatMap((scope, index) =>
    supported.has(scope)
      ? []
      : [
          violation(
            `${path}.baselineClientScopes[${index}]`,
            `${scope} is no scope that this server supports`,
            `use ${[...supported].join(', ')}, or add it to the scopes of an upstream provider`,
          ),
        ],
  );
};

/** What users notice of a new spec in place of the old one; the change is admitted. */
export const movedIssuer = (object: KubeObject, oldObject: KubeObject): readonly ResourceProblem[] => {
  if (!WITH_SERVER.some((kind) => kind === object.kind)) return [];
  const [now, before] = [object, oldObject].map((each) => fieldsOf(WITH_SERVER, each));
  return PLACES.flatMap((place) => {
    const [from, to] = [before?.[place]?.issuer, now?.[place]?.issuer];
    const isMoved = from !== undefined && to !== undefined && from !== to;
    return isMoved ? [{ path: `spec.${place}.issuer`, ...SIGNED_OUT }] : [];
  });
};

const PLACES = ['authServerConfig', 'embeddedAuthServer'] as const;

const SIGNED_OUT = {
  reason: 'another issuer signs every user out: tokens of the one before are refused, and clients register anew',
  remedy: 'keep the issuer unless that is meant',
} as const;

/** `authServerConfig`, and docs/decisions.md "Upstream provider for policies". */
export const serverWithAuthServer: Validator = {
  kinds: ['VirtualMCPServer'],
  validate: (server, lookUp) => {
    const { authServerConfig, incomingAuth } = specOf('VirtualMCPServer', server);
    return [
      ...foreignIssuer('spec.authServerConfig.issuer', authServerConfig, incomingAuth.oidcConfigRef, lookUp),
      ...unknownProvider(authServerConfig, incomingAuth.authzConfig?.inline?.primaryUpstreamProvider),
    ];
  },
};

/** The tokens that it issues are those that are accepted. */
const foreignIssuer = (
  path: string,
  server: EmbeddedAuthServer | undefined,
  reference: { readonly name: string } | undefined,
  lookUp: LookUp,
): readonly Violation[] => {
  const config: KubeObject | undefined = reference && lookUp('MCPOIDCConfig', reference.name);
  if (server === undefined || config === undefined) return [];
  const { inline } = specOf('MCPOIDCConfig', config);
  if (inline?.issuer === server.issuer) return [];
  // The author of this object may not be allowed to read the other one: nothing of its content is repeated.
  const reason = `issues tokens of another issuer than MCPOIDCConfig ${config.metadata.name} accepts`;
  return [violation(path, reason, 'make both issuers the same')];
};

const unknownProvider = (server: EmbeddedAuthServer | undefined, name: string | undefined): readonly Violation[] => {
  const known = (server?.upstreamProviders ?? []).map((each) => each.name);
  if (name === undefined || known.includes(name)) return [];
  const remedy = known.length === 0 ? 'set spec.authServerConfig' : `name one of ${known.join(', ')}`;
  const path = 'spec.incomingAuth.authzConfig.inline.primaryUpstreamProvider';
  return [violation(path, `no upstream provider is called ${name}`, remedy)];
};

type Reference = { readonly name: string } | undefined;

const FRONTED = ['MCPServer', 'MCPRemoteProxy'] as const;

type FrontSpec = FieldsOf<(typeof FRONTED)[number]>;

/** MCPServer and MCPRemoteProxy take one: docs/decisions.md "Upstream provider for policies" */
export const authServerReference: Validator = {
  kinds: FRONTED,
  validate: (object, lookUp) => {
    const spec = fieldsOf(FRONTED, object);
    return [...unfitAuthServer(spec, lookUp), ...misplacedAuthServer(spec, lookUp)];
  },
};

const unfitAuthServer = ({ authServerRef, oidcConfigRef }: FrontSpec, lookUp: LookUp): readonly Violation[] => {
  const named = namedConfig(authServerRef, lookUp);
  if (named === undefined) return [];
  const { text, server } = named;
  if (server === undefined) {
    return [violation('spec.authServerRef', `${text} is of another type`, 'name one of type embeddedAuthServer')];
  }
  const reason = `${text} has more than one upstream provider, or none`;
  return server.upstreamProviders.length === 1
    ? foreignIssuer('spec.authServerRef', server, oidcConfigRef, lookUp)
    : [violation('spec.authServerRef', reason, 'name one with a single upstream provider')];
};

/** A spec that names it there means to authenticate its clients: without this rule it would admit every caller. */
const misplacedAuthServer = ({ externalAuthConfigRef }: FrontSpec, lookUp: LookUp): readonly Violation[] => {
  const named = namedConfig(externalAuthConfigRef, lookUp);
  if (named?.server === undefined) return [];
  const reason = `${named.text} is of type embeddedAuthServer, which is for clients and not for a server`;
  return [violation('spec.externalAuthConfigRef', reason, 'name it in authServerRef, with an oidcConfigRef')];
};

const namedConfig = (reference: Reference, lookUp: LookUp) => {
  const config = reference && lookUp('MCPExternalAuthConfig', reference.name);
  if (config === undefined) return undefined;
  const { embeddedAuthServer: server } = specOf('MCPExternalAuthConfig', config);
  return { text: `MCPExternalAuthConfig ${config.metadata.name}`, server };
};
