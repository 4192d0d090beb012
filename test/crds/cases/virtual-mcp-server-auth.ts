import { casesOf } from '../case.ts';
import { EMPTY, ENUM, REQUIRED } from './words.ts';

const { accepts, refuses } = casesOf('VirtualMCPServer');

const oidc = { type: 'oidc', oidcConfigRef: { name: 'login', audience: 'tools' } };

export const incomingAuthCases = [
  refuses(
    { of: 'crd.vmcp.incoming-auth.type-required', set: { incomingAuth: {} } },
    'spec.incomingAuth.type',
    REQUIRED,
  ),
  refuses(
    { of: 'crd.vmcp.incoming-auth.type-enum', set: { incomingAuth: { type: 'local' } } },
    'spec.incomingAuth.type',
    ENUM,
  ),
  accepts(
    { of: 'crd.vmcp.incoming-auth.type-enum', set: { incomingAuth: oidc } },
    { 'incomingAuth.oidcConfigRef.scopes': ['openid'] },
  ),
  refuses(
    { of: 'crd.vmcp.oidc-config-ref.required-for-oidc', set: { incomingAuth: { type: 'oidc' } } },
    'spec.incomingAuth',
    'type oidc needs oidcConfigRef',
  ),
  accepts({ of: 'crd.vmcp.oidc-config-ref.not-required-for-anonymous' }),
  accepts({ set: { incomingAuth: { ...oidc, type: 'anonymous' } } }),
  refuses(
    {
      of: 'crd.vmcp.oidc-config-ref.name-required',
      set: { incomingAuth: { type: 'oidc', oidcConfigRef: { audience: 'tools' } } },
    },
    'spec.incomingAuth.oidcConfigRef.name',
    REQUIRED,
  ),
  refuses(
    {
      of: 'crd.vmcp.oidc-config-ref.name-min-length',
      set: { incomingAuth: { type: 'oidc', oidcConfigRef: { name: '', audience: 'tools' } } },
    },
    'spec.incomingAuth.oidcConfigRef.name',
    EMPTY,
  ),
  refuses(
    {
      of: 'crd.vmcp.oidc-config-ref.audience-required',
      set: { incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'login' } } },
    },
    'spec.incomingAuth.oidcConfigRef.audience',
    REQUIRED,
  ),
  refuses(
    {
      of: 'crd.vmcp.oidc-config-ref.audience-min-length',
      set: { incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'login', audience: '' } } },
    },
    'spec.incomingAuth.oidcConfigRef.audience',
    EMPTY,
  ),
];

const policies = (inline: Readonly<Record<string, unknown>>) => ({
  'incomingAuth.authzConfig': { type: 'inline', inline },
});
const primary = (primaryUpstreamProvider: string) => policies({ policies: [], primaryUpstreamProvider });
const PRIMARY = 'spec.incomingAuth.authzConfig.inline.primaryUpstreamProvider';

export const authzCases = [
  accepts({ of: 'crd.vmcp.authz-config.optional' }, { 'incomingAuth.authzConfig': undefined }),
  accepts(
    {
      of: 'crd.vmcp.authz-config.type-default',
      set: { 'incomingAuth.authzConfig': { configMap: { name: 'policies' } } },
    },
    { 'incomingAuth.authzConfig.type': 'configMap', 'incomingAuth.authzConfig.configMap.key': 'authz.json' },
  ),
  refuses(
    { of: 'crd.vmcp.authz-config.type-enum', set: { 'incomingAuth.authzConfig': { type: 'file' } } },
    'spec.incomingAuth.authzConfig.type',
    ENUM,
  ),
  refuses(
    { of: 'crd.vmcp.authz-config.config-map-required', set: { 'incomingAuth.authzConfig': {} } },
    'spec.incomingAuth.authzConfig',
    'type configMap needs configMap',
  ),
  refuses(
    { of: 'crd.vmcp.authz-config.config-map-name-required', set: { 'incomingAuth.authzConfig': { configMap: {} } } },
    'spec.incomingAuth.authzConfig.configMap.name',
    REQUIRED,
  ),
  refuses(
    { of: 'crd.vmcp.authz-config.inline-required', set: { 'incomingAuth.authzConfig': { type: 'inline' } } },
    'spec.incomingAuth.authzConfig',
    'type inline needs inline',
  ),
  refuses(
    { set: { 'incomingAuth.authzConfig': { configMap: { name: 'a' }, inline: { policies: [] } } } },
    'spec.incomingAuth.authzConfig.inline',
    'inline is allowed only with type inline',
  ),
  accepts(
    { set: policies({ policies: ['permit(principal, action, resource);'] }) },
    { 'incomingAuth.authzConfig.inline.entitiesJson': '[]' },
  ),
  refuses(
    { of: 'crd.vmcp.authz-config.inline-policies-required', set: policies({}) },
    'spec.incomingAuth.authzConfig.inline.policies',
    REQUIRED,
  ),
  accepts({ of: 'crd.vmcp.authz-config.primary-upstream.pattern', set: primary('idp-2') }),
  ...['-idp', 'idp-', 'Idp'].map((name) =>
    refuses({ of: 'crd.vmcp.authz-config.primary-upstream.pattern', set: primary(name) }, PRIMARY, 'should match'),
  ),
  refuses({ of: 'crd.vmcp.authz-config.primary-upstream.min-length', set: primary('') }, PRIMARY, EMPTY),
  accepts({ of: 'crd.vmcp.authz-config.primary-upstream.max-length', set: primary('a'.repeat(63)) }),
  refuses(
    { of: 'crd.vmcp.authz-config.primary-upstream.max-length', set: primary('a'.repeat(64)) },
    PRIMARY,
    'more than 63',
  ),
];

const viaRef = { type: 'externalAuthConfigRef', externalAuthConfigRef: { name: 'token' } };

export const outgoingAuthCases = [
  accepts(
    { of: 'crd.vmcp.outgoing-auth.source-default', set: { outgoingAuth: {} } },
    { 'outgoingAuth.source': 'discovered' },
  ),
  accepts({ of: 'crd.vmcp.outgoing-auth.source-enum', set: { outgoingAuth: { source: 'inline' } } }),
  refuses(
    { of: 'crd.vmcp.outgoing-auth.source-enum', set: { outgoingAuth: { source: 'mixed' } } },
    'spec.outgoingAuth.source',
    ENUM,
  ),
  accepts({ set: { outgoingAuth: { default: viaRef, backends: { github: viaRef, jira: { type: 'discovered' } } } } }),
  refuses(
    { of: 'crd.vmcp.outgoing-auth.default.type-required', set: { 'outgoingAuth.default': {} } },
    'spec.outgoingAuth.default.type',
    REQUIRED,
  ),
  refuses(
    { of: 'crd.vmcp.outgoing-auth.default.type-enum', set: { 'outgoingAuth.default': { type: 'none' } } },
    'spec.outgoingAuth.default.type',
    ENUM,
  ),
  refuses(
    {
      of: 'crd.vmcp.outgoing-auth.default.ref-name-required',
      set: { 'outgoingAuth.default': { ...viaRef, externalAuthConfigRef: {} } },
    },
    'spec.outgoingAuth.default.externalAuthConfigRef.name',
    REQUIRED,
  ),
  refuses(
    { set: { 'outgoingAuth.default': { type: 'externalAuthConfigRef' } } },
    'spec.outgoingAuth.default',
    'type externalAuthConfigRef needs externalAuthConfigRef',
  ),
  refuses(
    { set: { 'outgoingAuth.default': { ...viaRef, type: 'discovered' } } },
    'spec.outgoingAuth.default.externalAuthConfigRef',
    'externalAuthConfigRef is allowed only with type externalAuthConfigRef',
  ),
  refuses(
    { of: 'crd.vmcp.outgoing-auth.backends.type-enum', set: { 'outgoingAuth.backends': { github: { type: 'none' } } } },
    'spec.outgoingAuth.backends.github.type',
    ENUM,
  ),
];
