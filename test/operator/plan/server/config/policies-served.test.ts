import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBackend } from '../../../../fixtures/backend.ts';
import { as, filesWithPolicies, policyFeatures } from '../../../../fixtures/policies.ts';
import { post } from '../../../../fixtures/raw-client.ts';
import { startRuntime } from '../../../../fixtures/runtime.ts';
import { covers } from '../../../../requirements.ts';
import { configMap, configOf, idp, oidc, planOf } from '../../plan-with-everything-built.ts';
import { group, server } from '../../plan-of-demo.ts';

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

const onlyTool = (name: string): string => `permit(principal, action, resource == Tool::"a_${name}");`;

const document = (name: string): string =>
  JSON.stringify({ version: '1.0', type: 'cedarv1', cedar: { policies: [onlyTool(name)] } });

/** Names of the tools that the runtime lists with what the operator has rendered for this server. */
const listedUnder = async (authzConfig: object): Promise<readonly string[]> => {
  const policies = configMap('policies', { 'authz.json': document('t'), 'other.json': document('u') });
  const { authz } = configOf(planOf(server(oidc({ authzConfig })), group(), idp(), policies)).incomingAuth;
  const backend = await startBackend({ tools: ['t', 'u'] });
  const files = filesWithPolicies({ a: backend.url }, authz);
  const running = await startRuntime(files, {}, { features: policyFeatures() });
  const headers = { ...as('alice'), 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };
  const answer = await post(
    running.url,
    { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: META } },
    headers,
  );
  await running.stop();
  await backend.close();
  const { result } = answer.json as { readonly result: { readonly tools: readonly { readonly name: string }[] } };
  return result.tools.map(({ name }) => name);
};

covers('authz.source.inline');
test('policies that are written inline decide', async () => {
  const inline = { policies: [onlyTool('t')], entitiesJson: '[]' };
  assert.deepEqual(await listedUnder({ type: 'inline', inline }), ['a_t']);
});

covers('authz.source.config-map');
test('policies of a ConfigMap decide', async () => {
  assert.deepEqual(await listedUnder({ type: 'configMap', configMap: { name: 'policies' } }), ['a_t']);
});

covers('authz.source.config-map.custom-key');
test('policies under the named key of a ConfigMap decide, and no other key', async () => {
  assert.deepEqual(await listedUnder({ type: 'configMap', configMap: { name: 'policies', key: 'other.json' } }), [
    'a_u',
  ]);
});
