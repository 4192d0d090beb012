import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PlannedCondition } from '../../../../../operator/plan/plan.ts';
import { covers } from '../../../../requirements.ts';
import { planGolden } from '../../golden.ts';

const server = `
apiVersion: vmcp.dev/v1beta1
kind: VirtualMCPServer
metadata: { name: demo, uid: u1, generation: 1 }
spec:
  groupRef: { name: tools }
  incomingAuth: { type: anonymous }
  config: { aggregation: { tools: [{ workload: a, toolConfigRef: { name: shared } }] } }
---
apiVersion: vmcp.dev/v1beta1
kind: MCPGroup
metadata: { name: tools }
`;

const toolConfig = (namespace: string) => `---
apiVersion: vmcp.dev/v1beta1
kind: MCPToolConfig
metadata: { name: shared, namespace: ${namespace} }
spec: { toolsFilter: [find] }
`;

const planOf = (manifests: string) => {
  const plan = planGolden(manifests).find(({ object }) => object.kind === 'VirtualMCPServer')?.plan;
  const conditions = (plan?.status?.['conditions'] ?? []) as readonly PlannedCondition[];
  const { status, reason, message } = conditions.find(({ type }) => type === 'ToolConfigResolved') ?? {};
  return { plan, condition: { status, reason, message } };
};

covers('errors.reference-missing.tool-config');
test('a toolConfigRef that leads nowhere is reported, with the remedy, and nothing is applied', () => {
  const { plan, condition } = planOf(server);
  assert.deepEqual(condition, {
    status: 'False',
    reason: 'ToolConfigNotFound',
    message:
      'no MCPToolConfig shared in this namespace; create it or change spec.config.aggregation.tools[0].toolConfigRef',
  });
  assert.equal(plan?.config, undefined);
});

covers('operator.ref.tool-config.same-namespace');
test('a toolConfigRef finds what is in its own namespace, and nothing else', () => {
  assert.equal(planOf(server + toolConfig('default')).condition.status, 'True');
  assert.equal(planOf(server + toolConfig('elsewhere')).condition.status, 'False');
});

covers('aggregation.static.metadata-group-set', 'aggregation.static.metadata-group-overridden');
test('every backend of a static list has the group of its server, whatever was given', () => {
  const backend = (name: string, more: string) =>
    `{ name: ${name}, url: "http://${name}/mcp", transport: streamable-http${more} }`;
  const backends = `[${backend('a', '')}, ${backend('b', ', metadata: { group: mine, team: red }')}]`;
  const { plan } = planOf(
    server.replace(/ {2}config: .*/, `  outgoingAuth: { source: inline }\n  config: { backends: ${backends} }`),
  );
  const text = plan?.config?.['config.yaml'] ?? '';
  assert.equal(text.match(/ group: tools$/gm)?.length, 2);
  assert.doesNotMatch(text, /mine/);
  assert.match(text, /team: red/);
});
