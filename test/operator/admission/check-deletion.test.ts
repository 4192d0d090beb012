import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { kinds } from '../../../crds/index.ts';
import { GUARDED_KINDS } from '../../../operator/admission/index.ts';
import { checkDeletion } from '../../../operator/admission/check-deletion.ts';
import type { Verdict } from '../../../operator/admission/review.ts';
import type { KubeObject } from '../../../operator/object.ts';
import { clusterOf, creating, deleting, namespace, object } from './context-under-test.ts';

const messageOf = ({ refusal }: Verdict): string | undefined => refusal?.message;

const leaving = { deletionTimestamp: '2026-11-20T12:00:00Z' };
const base = { groupRef: { name: 'tools' }, incomingAuth: { type: 'anonymous' } };
const login = object('MCPExternalAuthConfig', 'login', { type: 'unauthenticated' });
const entry = (name: string, metadata: object = {}): KubeObject =>
  object(
    'MCPServerEntry',
    name,
    { groupRef: { name: 'tools' }, remoteUrl: 'http://a', transport: 'sse', externalAuthConfigRef: { name: 'login' } },
    metadata,
  );

const USERS: Readonly<Record<(typeof GUARDED_KINDS)[number], readonly KubeObject[]>> = {
  MCPExternalAuthConfig: [
    object('MCPRemoteProxy', 'a', { remoteUrl: 'http://a', externalAuthConfigRef: { name: 'it' } }),
    object('MCPServer', 'b', { image: 'b', externalAuthConfigRef: { name: 'it' } }),
    object('MCPServerEntry', 'c', { ...base, externalAuthConfigRef: { name: 'it' } }),
    object('VirtualMCPServer', 'd', {
      ...base,
      outgoingAuth: { default: { type: 'externalAuthConfigRef', externalAuthConfigRef: { name: 'it' } } },
    }),
  ],
  MCPOIDCConfig: [
    object('MCPRemoteProxy', 'a', { remoteUrl: 'http://a', oidcConfigRef: { name: 'it', audience: 'a' } }),
    object('MCPServer', 'b', { image: 'b', oidcConfigRef: { name: 'it', audience: 'a' } }),
    object('VirtualMCPServer', 'd', {
      ...base,
      incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'it', audience: 'a' } },
    }),
  ],
  MCPTelemetryConfig: [object('VirtualMCPServer', 'd', { ...base, telemetryConfigRef: { name: 'it' } })],
  MCPToolConfig: [
    object('VirtualMCPServer', 'd', {
      ...base,
      config: { aggregation: { tools: [{ workload: 'a', toolConfigRef: { name: 'it' } }] } },
    }),
  ],
};

for (const kind of GUARDED_KINDS) {
  test(`${kind}: the kinds of those who use it are named, and none of their names`, async () => {
    const users = USERS[kind];
    const config = object(kind, 'it', {});
    const { refusal } = await checkDeletion(deleting(config), clusterOf([config, ...users]));
    const kinds = [...new Set(users.map((user) => user.kind))].join(', ');
    assert.equal(
      refusal?.message,
      `${kind} it is in use (${kinds}); delete what its status.referencingWorkloads names first, or let that name another one, or annotate it with vmcp.dev/allow-delete=true`,
    );
    assert.equal(refusal?.code, 403);
    assert.equal(messageOf(await checkDeletion(deleting(config), clusterOf([config]))), undefined);
  });
}

test('a name of another kind, or in another namespace, is no use', async () => {
  const others = [
    object('VirtualMCPServer', 'a', { ...base, telemetryConfigRef: { name: 'login' } }),
    { ...entry('b'), metadata: { name: 'b', namespace: 'elsewhere' } },
  ];
  assert.equal(messageOf(await checkDeletion(deleting(login), clusterOf([login, ...others]))), undefined);
});

test('no other kind is guarded, whatever refers to it', async () => {
  const group = object('MCPGroup', 'tools', {});
  const flow = object('VirtualMCPCompositeToolDefinition', 'flow', {});
  const server = object('VirtualMCPServer', 'a', { ...base, config: { compositeToolRefs: [{ name: 'flow' }] } });
  const cluster = clusterOf([group, flow, server, entry('b')]);
  const others = Object.keys(kinds).filter((kind) => !(GUARDED_KINDS as readonly string[]).includes(kind));
  for (const kind of others) {
    const named = kind === 'MCPGroup' ? group : object(kind, 'flow', {});
    assert.deepEqual(await checkDeletion(deleting(named), cluster), { warnings: [] });
  }
  assert.deepEqual(cluster.asked, []);
});

const letGo: readonly (readonly [why: string, config: KubeObject, others: readonly KubeObject[]])[] = [
  ['every user is being deleted', login, [entry('a', leaving), entry('b', leaving)]],
  ['the namespace is being deleted', login, [entry('a'), namespace(leaving)]],
  ['it is being deleted already', { ...login, metadata: { ...login.metadata, ...leaving } }, [entry('a')]],
  [
    'it is annotated so',
    { ...login, metadata: { ...login.metadata, annotations: { 'vmcp.dev/allow-delete': 'true' } } },
    [entry('a')],
  ],
];
for (const [why, config, others] of letGo) {
  test(`it lets go when ${why}`, async () => {
    assert.deepEqual(await checkDeletion(deleting(config), clusterOf([config, ...others])), { warnings: [] });
  });
}

test('it does not let go for a user that stays, nor for an annotation that says something else', async () => {
  const annotated = { ...login, metadata: { ...login.metadata, annotations: { 'vmcp.dev/allow-delete': 'false' } } };
  const { refusal } = await checkDeletion(deleting(annotated), clusterOf([login, entry('a', leaving), entry('b')]));
  assert.match(refusal?.message ?? '', /in use \(MCPServerEntry\); /);
});

test('who was deleted a moment ago, or names something else by now, is no user although the watches know nothing of it', async () => {
  const moved = object('MCPServerEntry', 'b', { groupRef: { name: 'tools' }, remoteUrl: 'http://a', transport: 'sse' });
  const known = [login, entry('a'), entry('b'), entry('c')];
  const { refusal } = await checkDeletion(deleting(login), clusterOf([login, moved, entry('c')], known));
  assert.match(refusal?.message ?? '', /in use \(MCPServerEntry\); /);
  assert.equal(messageOf(await checkDeletion(deleting(login), clusterOf([login, moved], known))), undefined);
});

test('of hundreds of users one is asked for', async () => {
  const users = Array.from({ length: 300 }, (_, index) => entry(`e${String(index).padStart(3, '0')}`));
  const cluster = clusterOf([login, ...users]);
  const message = messageOf(await checkDeletion(deleting(login), cluster)) ?? '';
  assert.match(message, /in use \(MCPServerEntry\); /);
  assert.deepEqual(cluster.asked, ['MCPServerEntry/default/e000', 'Namespace//default']);
});

describe('a user that may be large', () => {
  const known = [login, entry('a', { generation: 1 }), entry('b', { generation: 1 })];
  const verdict = async (...stored: readonly KubeObject[]) => {
    const cluster = clusterOf([login, ...stored], known);
    const message = messageOf(await checkDeletion(deleting(login), cluster));
    return { isRefused: message !== undefined, asked: cluster.asked, metadata: cluster.askedMetadata };
  };
  const [a, b] = ['MCPServerEntry/default/a', 'MCPServerEntry/default/b'];

  test('is not read where its metadata tells that its spec is the known one', async () => {
    const { isRefused, asked, metadata } = await verdict(entry('a', { generation: 1 }));
    assert.ok(isRefused);
    assert.deepEqual([asked, metadata], [['Namespace//default'], [a]]);
  });

  test('is read where it has changed since, or is another one', async () => {
    const moved = object('MCPServerEntry', 'a', { groupRef: { name: 'tools' } }, { generation: 2 });
    const another = object('MCPServerEntry', 'b', { groupRef: { name: 'tools' } }, { generation: 1, uid: 'another' });
    const { isRefused, asked, metadata } = await verdict(moved, another);
    assert.ok(!isRefused);
    assert.deepEqual(
      [asked, metadata],
      [
        [a, b],
        [a, b],
      ],
    );
  });

  test('is none any more where it has gone or is going', async () => {
    const { isRefused, asked } = await verdict(entry('b', { generation: 1, ...leaving }));
    assert.ok(!isRefused);
    assert.deepEqual(asked, []);
  });
});

test('what is no deletion is not judged here', async () => {
  assert.deepEqual(await checkDeletion(creating(login), clusterOf([login, entry('a')])), { warnings: [] });
});
