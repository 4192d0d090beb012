import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { kinds } from '../../crds/index.ts';
import { covers } from '../requirements.ts';
import type { ApiServer } from './api-server.ts';
import { startApiServer } from './api-server.ts';
import { casesOf, manifestOf } from './case.ts';

let api: ApiServer;
before(async () => {
  api = await startApiServer();
});
after(() => api.stop());

const minimal = (kind: string, name: string) => manifestOf(casesOf(kind).accepts({ name }));
const create = (kind: string, name: string) =>
  api.kubectl(['create', '--filename', '-'], JSON.stringify(minimal(kind, name)));
const names = async (...what: readonly string[]) => (await api.kubectl(['get', ...what, '--output', 'name'])).trim();

covers('crd.vmcp.kind', 'crd.vmcp.namespaced', 'extauth.kind');
test('discovery lists every kind at v1beta1, namespaced', async () => {
  const list = JSON.parse(await api.kubectl(['get', '--raw', '/apis/vmcp.dev/v1beta1'])) as {
    readonly resources: readonly { readonly kind: string; readonly name: string; readonly namespaced: boolean }[];
  };
  const served = list.resources.filter(({ name }) => !name.includes('/'));
  assert.deepEqual(served.map(({ kind }) => kind).sort(), Object.keys(kinds).sort());
  assert.ok(served.every(({ namespaced }) => namespaced));
});

covers('versioning.api-version');
test('a resource of another version has no match', async () => {
  const manifest = { ...minimal('VirtualMCPServer', 'old'), apiVersion: 'vmcp.dev/v1alpha1' };
  await assert.rejects(api.kubectl(['create', '--filename', '-'], JSON.stringify(manifest)), /no matches for kind/);
  await create('VirtualMCPServer', 'current');
});

covers(
  'crd.vmcp.short-name.vmcp',
  'crd.vmcp.short-name.virtualmcp',
  'crd.extauth.short-name.extauth',
  'crd.extauth.short-name.mcpextauth',
);
test('every kind is listed by its short names and by nothing else', async () => {
  for (const { kind, plural, shortNames } of Object.values(kinds)) {
    await create(kind, 'listed');
    for (const shortName of shortNames)
      assert.equal(
        await names(shortName, 'listed'),
        `${plural.replace(/ies$/, 'y').replace(/s$/, '')}.vmcp.dev/listed`,
      );
  }
  assert.doesNotMatch(await names('vmcp'), /mcpgroup/);
  assert.match(await names('vmcp-all'), /mcpgroup/);
});

covers('status.phase.default-pending');
test('a server nobody has looked at yet is Pending', async () => {
  await create('VirtualMCPServer', 'fresh');
  assert.equal(await api.kubectl(['get', 'vmcp', 'fresh', '--output', 'jsonpath={.status.phase}']), 'Pending');
});

test('kubectl get shows phase, address, backends, tools and readiness', async () => {
  await create('VirtualMCPServer', 'shown');
  const written = await api.writeStatus('VirtualMCPServer', 'shown', {
    phase: 'Ready',
    url: 'http://vmcp-shown.default.svc.cluster.local:4483/mcp',
    backendCount: 2,
    extensions: { toolCount: 34 },
    conditions: [
      { type: 'Ready', status: 'True', reason: 'Serving', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
    ],
  });
  assert.equal(written.status, 200, written.message);
  const [header, row] = (await api.kubectl(['get', 'vmcp', 'shown'])).split('\n').map((line) => line.split(/\s+/));
  assert.deepEqual(header, ['NAME', 'PHASE', 'URL', 'BACKENDS', 'TOOLS', 'READY', 'AGE']);
  assert.deepEqual(row?.slice(0, 6), [
    'shown',
    'Ready',
    'http://vmcp-shown.default.svc.cluster.local:4483/mcp',
    '2',
    '34',
    'True',
  ]);
});

const withUnknown = (name: string): string =>
  JSON.stringify(manifestOf(casesOf('VirtualMCPServer').accepts({ name, set: { 'config.unheardOf': 1 } })));

test('kubectl apply refuses an unknown field and names it', async () => {
  await assert.rejects(
    api.kubectl(['apply', '--filename', '-'], withUnknown('strict')),
    /strict decoding error: unknown field "spec.config.unheardOf"/,
  );
});

test('a client that does not ask for strictness gets unknown fields pruned', async () => {
  await api.kubectl(['create', '--validate=ignore', '--filename', '-'], withUnknown('lenient'));
  const stored = await api.kubectl(['get', 'vmcp', 'lenient', '--output', 'jsonpath={.spec.config}']);
  assert.equal(stored, '{}');
});
