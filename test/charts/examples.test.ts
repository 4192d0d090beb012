import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { MCP_PORT } from '../../operator/plan/server/objects/names.ts';
import { objectsIn } from './rendered.ts';

interface Gateway {
  readonly spec: {
    readonly listeners: readonly { readonly hostname: string; readonly protocol: string; readonly tls: object }[];
  };
}

interface Route {
  readonly spec: {
    readonly parentRefs: readonly { readonly name: string }[];
    readonly hostnames: readonly string[];
    readonly rules: readonly { readonly backendRefs: readonly { readonly name: string; readonly port: number }[] }[];
  };
}

test('the example of a Gateway ends TLS and leads its host to the Service of the quickstart', async () => {
  const text = await readFile(join(import.meta.dirname, '../../examples/ingress/gateway.yaml'), 'utf8');
  const [gateway, route] = objectsIn(text);
  const [listener] = (gateway as unknown as Gateway).spec.listeners;
  assert.equal(listener?.protocol, 'HTTPS');
  assert.deepEqual(listener.tls, { mode: 'Terminate', certificateRefs: [{ name: 'mcp-example-com' }] });
  const { parentRefs, hostnames, rules } = (route as unknown as Route).spec;
  assert.deepEqual(parentRefs, [{ name: gateway?.metadata.name }]);
  assert.deepEqual(hostnames, [listener.hostname]);
  assert.deepEqual(
    rules.flatMap(({ backendRefs }) => backendRefs),
    [{ name: 'vmcp-quickstart', port: MCP_PORT }],
  );
});
