import assert from 'node:assert/strict';
import { test } from 'node:test';

import { kinds, referredKinds, references } from '../../crds/index.ts';
import { referenceCases } from './cases/references.ts';

const secret = (name: string) => ({ name, key: 'a' });

test('the references of a server are found wherever they are', () => {
  const spec = {
    groupRef: { name: 'tools' },
    incomingAuth: {
      type: 'oidc',
      oidcConfigRef: { name: 'login', audience: 'a' },
      authzConfig: { configMap: { name: 'policies' } },
    },
    outgoingAuth: {
      default: { type: 'externalAuthConfigRef', externalAuthConfigRef: { name: 'token' } },
      backends: { 'my.backend': { type: 'externalAuthConfigRef', externalAuthConfigRef: { name: 'key' } } },
    },
    authServerConfig: {
      issuer: 'https://auth.example.com',
      signingKeySecretRefs: [secret('new'), secret('old')],
      upstreamProviders: [{ name: 'idp', type: 'oidc', oidcConfig: { clientSecretRef: secret('client') } }],
    },
    config: {
      aggregation: { tools: [{ workload: 'github', toolConfigRef: { name: 'fewer' } }] },
      compositeToolRefs: [{ name: 'report' }],
    },
    embeddingServerRef: { name: 'vectors' },
    sessionStorage: { provider: 'kvstore', passwordRef: secret('store') },
    telemetryConfigRef: { name: 'otel' },
    imagePullSecrets: [{ name: 'registry' }],
  };
  assert.deepEqual(
    references('VirtualMCPServer', { spec }).map(({ path, kind, name }) => `${path} → ${kind} ${name}`),
    [
      'spec.groupRef → MCPGroup tools',
      'spec.incomingAuth.oidcConfigRef → MCPOIDCConfig login',
      'spec.incomingAuth.authzConfig.configMap → ConfigMap policies',
      'spec.outgoingAuth.default.externalAuthConfigRef → MCPExternalAuthConfig token',
      'spec.outgoingAuth.backends["my.backend"].externalAuthConfigRef → MCPExternalAuthConfig key',
      'spec.authServerConfig.signingKeySecretRefs[0] → Secret new',
      'spec.authServerConfig.signingKeySecretRefs[1] → Secret old',
      'spec.authServerConfig.upstreamProviders[0].oidcConfig.clientSecretRef → Secret client',
      'spec.config.aggregation.tools[0].toolConfigRef → MCPToolConfig fewer',
      'spec.config.compositeToolRefs[0] → VirtualMCPCompositeToolDefinition report',
      'spec.embeddingServerRef → EmbeddingServer vectors',
      'spec.sessionStorage.passwordRef → Secret store',
      'spec.telemetryConfigRef → MCPTelemetryConfig otel',
    ],
  );
});

test('a reference without a name, or in an unknown field, is none', () => {
  const spec = { groupRef: { name: '' }, unheardOf: { groupRef: { name: 'tools' } } };
  assert.deepEqual(references('VirtualMCPServer', { spec }), []);
  assert.deepEqual(references('Unheard', { spec }), []);
});

test('a namespace is tried in a reference of every kind to every kind', () => {
  const tried = new Set(referenceCases.map(({ kind }) => kind));
  const naming = Object.keys(kinds).filter((kind) => referredKinds(kind).length > 0);
  assert.deepEqual([...tried].sort(), naming.sort());
  assert.ok(referenceCases.length >= 54, `${referenceCases.length} references`);
});

test('the kinds that a kind may name follow from its schema, each once', () => {
  assert.deepEqual([...referredKinds('VirtualMCPServer')].sort(), [
    'ConfigMap',
    'EmbeddingServer',
    'MCPExternalAuthConfig',
    'MCPGroup',
    'MCPOIDCConfig',
    'MCPTelemetryConfig',
    'MCPToolConfig',
    'Secret',
    'VirtualMCPCompositeToolDefinition',
  ]);
  assert.deepEqual(referredKinds('MCPGroup'), []);
  assert.deepEqual(referredKinds('Unheard'), []);
});
