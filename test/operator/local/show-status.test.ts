import assert from 'node:assert/strict';
import { test } from 'node:test';
import { statusText } from '../../../operator/local/show-status.ts';
import { authServer } from '../validate/cases.ts';
import { planGolden } from '../plan/golden.ts';

const group = `---
apiVersion: vmcp.dev/v1beta1
kind: MCPGroup
metadata: { name: tools }
---
`;

const server = `
apiVersion: vmcp.dev/v1beta1
kind: VirtualMCPServer
metadata: { name: demo }
spec:
  groupRef: { name: tools }
  incomingAuth: { type: anonymous }
  config: { aggregation: { tools: [{ workload: a, toolConfigRef: { name: shared } }] } }
  sessionStorage: { provider: kvstore, address: "redis:6379", passwordRef: { name: redis, key: password } }
${group}apiVersion: vmcp.dev/v1beta1
kind: MCPServerEntry
metadata: { name: a }
spec: { groupRef: { name: tools }, remoteUrl: http://a/mcp, transport: sse }
`;

const told = (manifests: string) => statusText(planGolden(manifests)).match(/ {2}! .*/g) ?? [];

test('a reference that leads nowhere is shown in the terminal with what to do, one that is found is not', () => {
  const toolConfig = '---\napiVersion: vmcp.dev/v1beta1\nkind: MCPToolConfig\nmetadata: { name: shared }\nspec: {}\n';
  assert.deepEqual(told(server + toolConfig), []);
  assert.deepEqual(told(server), [
    '  ! ToolConfigResolved: no MCPToolConfig shared in this namespace; create it or change spec.config.aggregation.tools[0].toolConfigRef',
  ]);
});

test('what is as it should be is no problem, what the phase says already is shown once', () => {
  const secret = (key: string) => [{ name: 'keys', key }];
  const named = { signingKeySecretRefs: secret('signing'), hmacSecretRefs: secret('hmac') };
  const issued = (spec: string): string => `
apiVersion: vmcp.dev/v1beta1
kind: VirtualMCPServer
metadata: { name: demo }
spec:
  groupRef: { name: tools }
  incomingAuth: { type: oidc, oidcConfigRef: { name: idp, audience: demo, resourceUrl: https://mcp.example.com } }
  authServerConfig: ${JSON.stringify(authServer(named))}
  ${spec}
${group}apiVersion: vmcp.dev/v1beta1
kind: MCPOIDCConfig
metadata: { name: idp }
spec: { type: inline, inline: { issuer: "https://auth.example.com" } }
`;
  assert.deepEqual(told(issued('')), []);
  assert.deepEqual(told(issued('podTemplateSpec: { spec: { containers: 5 } }')), []);
});
