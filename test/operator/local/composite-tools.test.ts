import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBackend } from '../../fixtures/backend.ts';
import { openSession } from '../../fixtures/raw-client.ts';
import { covers } from '../../requirements.ts';
import { manifests, startLocal } from './terminal.ts';

const definition = (name: string, workflow: string, namespace = 'default'): string =>
  `---\napiVersion: vmcp.dev/v1beta1\nkind: VirtualMCPCompositeToolDefinition\nmetadata: { name: ${name}, namespace: ${namespace} }\nspec: { name: ${workflow}, steps: [{ id: one, tool: files.echo }] }\n`;
const config = (refs: string): string =>
  `  config:\n    compositeTools: [{ name: inline, steps: [{ id: one, tool: files.echo }] }]\n    compositeToolRefs: [${refs}]\n`;

covers('workflow.refs.resolved', 'workflow.inline-and-refs-together');
test('a server offers the workflows of its own and those that it refers to, and runs both', async (t) => {
  const backend = await startBackend({ tools: ['echo'] });
  t.after(() => backend.close());
  const all = manifests({ files: backend.url }, config('{ name: shared }'));
  await using local = await startLocal({ 'all.yaml': all + definition('shared', 'referenced') });
  await local.sees(/demo {2}Ready/);
  const session = await openSession(local.url);
  assert.deepEqual((await session.toolNames()).toSorted(), ['files_echo', 'inline', 'referenced']);
  for (const name of ['inline', 'referenced']) {
    const { json } = await session.call(name);
    const { result } = json as { readonly result?: { readonly isError?: boolean } };
    assert.ok(result !== undefined && result.isError !== true, name);
  }
});

covers('workflow.refs.same-namespace');
test('a definition in another namespace counts as missing', async (t) => {
  const backend = await startBackend({ tools: ['echo'] });
  t.after(() => backend.close());
  const all = manifests({ files: backend.url }, config('{ name: shared }'));
  await using local = await startLocal({ 'all.yaml': all + definition('shared', 'referenced', 'elsewhere') });
  await local.sees(/no VirtualMCPCompositeToolDefinition shared in this namespace/);
});
