import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type ApiClient, apiClient } from '../../../operator/api/client.ts';
import { type Connection, connect } from '../../../operator/api/kubeconfig.ts';
import { resourceTable } from '../../../operator/api/resources.ts';
import { transport } from '../../../operator/api/transport.ts';
import { systemClock } from '../../../runtime/process/system-clock.ts';
import { installedCluster } from '../engine/cluster-under-test.ts';
import { made } from '../engine/cluster-user.ts';
import { servers } from '../engine/operator-under-test.ts';

const cluster = installedCluster(servers);
const { signal } = new AbortController();
let connection: Connection;
let api: ApiClient;

before(async () => {
  await cluster.ready();
  connection = await connect(cluster.plane.kubeconfig, {});
  const deps = { clock: systemClock, rateLimit: () => Promise.resolve() };
  api = apiClient(transport(connection, deps), resourceTable(servers.resources));
});
after(() => connection.close());

const LAST = 0x10_ffff;
const PART = 0x1_0000;

/** Every character of Unicode; halves of pairs are none. */
const parts = Array.from({ length: Math.ceil(LAST / PART) }, (_, part) =>
  Array.from({ length: PART }, (_, index) => part * PART + index)
    .filter((code) => code < 0xd800 || code > 0xdfff)
    .map((code) => String.fromCodePoint(code))
    .join(''),
);

const key = (name: string) => ({ kind: 'ConfigMap', namespace: 'default', name });

test('every character of Unicode is stored by a server-side apply as it was sent, in values', async () => {
  for (const [part, text] of parts.entries()) {
    const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `p${part}`, namespace: 'default' } };
    const stored = await api.apply({ ...configMap, data: { text } }, signal);
    assert.ok((stored['data'] as { readonly text: string }).text === text, `part ${part} differs in the answer`);
    const read = await api.get(key(`p${part}`), signal);
    assert.ok((read?.['data'] as { readonly text?: string } | undefined)?.text === text, `part ${part} differs`);
  }
});

test('and in keys, and in a status', async () => {
  const [first = ''] = parts;
  // In pieces that are keys of a map, which may have a thousand.
  const pieces = Array.from(first).filter((_, index) => index < 0x3100 || index > 0xf000);
  const perKey = Math.ceil(pieces.length / 900);
  const names = Array.from({ length: 900 }, (_, index) => pieces.slice(index * perKey, (index + 1) * perKey).join(''));
  const metadata = Object.fromEntries(names.filter((name) => name !== '').map((name) => [name, name]));
  const spec = { groupRef: { name: 'g' }, incomingAuth: { type: 'anonymous' }, config: { metadata } };
  const object = made('VirtualMCPServer', 'odd', spec) as Parameters<ApiClient['apply']>[0];
  const whole = { ...object, metadata: { ...object.metadata, namespace: 'default' } };
  const stored = await api.apply(whole, signal);
  assert.deepEqual((stored['spec'] as typeof spec).config.metadata, metadata);
  const { uid, name, namespace } = stored.metadata as {
    readonly uid: string;
    readonly name: string;
    readonly namespace: string;
  };
  const { apiVersion, kind } = stored;
  const message = first.slice(0, 30_000);
  const told = await api.applyStatus(
    { apiVersion, kind, metadata: { uid, name, namespace }, status: { message } },
    signal,
  );
  assert.ok((told['status'] as { readonly message: string }).message === message);
});
