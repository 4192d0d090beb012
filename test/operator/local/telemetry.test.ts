import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBackend } from '../../fixtures/backend.ts';
import { startCollector } from '../../fixtures/otlp-collector.ts';
import { openSession } from '../../fixtures/raw-client.ts';
import { covers } from '../../requirements.ts';
import { manifests, startLocal } from './terminal.ts';

const shared = (endpoint: string): string => `---
apiVersion: vmcp.dev/v1beta1
kind: MCPTelemetryConfig
metadata: { name: shared }
spec:
  openTelemetry:
    enabled: true
    endpoint: ${endpoint}
    insecure: true
    headers: { x-tenant: seven }
    resourceAttributes: { team: blue }
    tracing: { enabled: true, samplingRate: '1.0' }
    metrics: { enabled: true }
  prometheus: { enabled: true }
---
apiVersion: vmcp.dev/v1beta1
kind: VirtualMCPServer
metadata: { name: other }
spec:
  groupRef: { name: tools }
  incomingAuth: { type: anonymous }
  telemetryConfigRef: { name: shared, serviceName: chosen }
`;

covers('telemetry.config-ref.applied', 'telemetry.config-ref.shared');
covers('telemetry.config-ref.service-name-override', 'telemetry.config-ref.service-name-default');
test('an MCPTelemetryConfig supplies the telemetry of every server that names it', async (t) => {
  const backend = await startBackend({ tools: ['one'] });
  t.after(() => backend.close());
  const collector = await startCollector();
  t.after(() => collector.close());
  const first = manifests({ first: backend.url }, '  telemetryConfigRef: { name: shared }\n');
  const local = await startLocal({ 'all.yaml': `${first}${shared(collector.address)}` });
  const seen = await local.sees(/other {2}Ready {2}(\S+)/);
  const urlOfOther = /other {2}Ready {2}(\S+)/.exec(seen)?.[1] ?? '';
  for (const url of [local.url, urlOfOther]) {
    await (await openSession(url)).call('first_one');
    const metrics = await fetch(new URL('/metrics', url));
    assert.match(await metrics.text(), /^mcp_server_operation_duration_seconds_count\{[^}]*first_one[^}]*\} 1$/m);
  }
  await local[Symbol.asyncDispose]();
  const calls = collector.spans().filter(({ name }) => name === 'tools/call first_one');
  const names = calls.map(({ resource }) => String(resource['service.name']));
  assert.deepEqual(names.toSorted(), ['chosen', 'vmcp-demo']);
  assert.ok(calls.every(({ resource }) => resource['team'] === 'blue'));
  const measured = collector.metrics().filter(({ name }) => name === 'vmcp.sessions');
  assert.deepEqual([...new Set(measured.map(({ resource }) => String(resource['service.name'])))].toSorted(), [
    'chosen',
    'vmcp-demo',
  ]);
  assert.ok(collector.received.every(({ headers }) => headers['x-tenant'] === 'seven'));
});
