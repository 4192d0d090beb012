import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MANAGEMENT_PORT, MCP_PORT, podLabelsOf } from '../../operator/plan/server/objects/names.ts';
import { childOf, labelsOfChild } from '../../operator/plan/workload/child.ts';
import { one, render, renderJson, type Rendered } from './rendered.ts';

const OWN = { 'app.kubernetes.io/name': 'vmcp-operator', 'app.kubernetes.io/instance': 'vmcp-operator' };
const PROMETHEUS = { namespaceSelector: { matchLabels: { team: 'monitoring' } } };
const GATEWAY = { podSelector: { matchLabels: { app: 'gateway' } }, namespaceSelector: {} };

interface PolicyRule {
  readonly ports: readonly { readonly protocol: string; readonly port: number }[];
  readonly from?: readonly object[];
  readonly to?: readonly object[];
}

interface Policy {
  readonly podSelector: { readonly matchLabels: Readonly<Record<string, string>> };
  readonly policyTypes: readonly string[];
  readonly ingress: readonly PolicyRule[];
  readonly egress?: readonly PolicyRule[];
}

const policyOf = (objects: readonly Rendered[], name = 'vmcp-operator'): Policy =>
  (one(objects, 'NetworkPolicy', name) as unknown as { readonly spec: Policy }).spec;

const tcp = (...ports: readonly number[]) => ports.map((port) => ({ protocol: 'TCP', port }));

describe('the network policy of the operator', () => {
  test('is not there unless asked for', async () => {
    assert.ok((await render()).every(({ kind }) => kind !== 'NetworkPolicy'));
  });

  test('lets in the webhook’s callers and no other client, and out to names, the API server and the servers', async () => {
    const { podSelector, policyTypes, ingress, egress } = policyOf(await render('networkPolicy.enabled=true'));
    assert.deepEqual(podSelector.matchLabels, OWN);
    assert.deepEqual(policyTypes, ['Ingress', 'Egress']);
    assert.deepEqual(ingress, [{ ports: tcp(9443) }]);
    assert.deepEqual(egress, [
      { ports: [{ protocol: 'UDP', port: 53 }, ...tcp(53)] },
      { ports: tcp(443, 6443) },
      {
        ports: tcp(MANAGEMENT_PORT),
        to: [
          { podSelector: { matchLabels: { 'app.kubernetes.io/managed-by': 'vmcp-operator' } }, namespaceSelector: {} },
        ],
      },
    ]);
  });

  test('without webhook and scrapers lets no client in', async () => {
    const objects = await render('networkPolicy.enabled=true', 'webhook.enabled=false');
    assert.deepEqual(policyOf(objects).ingress, []);
  });

  test('knows the scrapers, the API server’s addresses and the watched namespaces when the values name them', async () => {
    const { ingress, egress } = policyOf(
      await renderJson(
        'networkPolicy.enabled=true',
        'networkPolicy.apiServer={"cidrs":["192.0.2.1/32"],"ports":[6443]}',
        `networkPolicy.scrapers=${JSON.stringify([PROMETHEUS])}`,
        'namespaces=["team-a"]',
      ),
    );
    assert.deepEqual(ingress[1], { from: [PROMETHEUS], ports: tcp(8080) });
    assert.deepEqual(egress?.[1], { ports: tcp(6443), to: [{ ipBlock: { cidr: '192.0.2.1/32' } }] });
    const [watched] = (egress?.[2]?.to ?? []) as readonly { readonly namespaceSelector?: object }[];
    assert.deepEqual(watched?.namespaceSelector, {
      matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'In', values: ['team-a'] }],
    });
  });
});

describe('the network policy of servers', () => {
  const operator = {
    podSelector: { matchLabels: OWN },
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'vmcp-system' } },
  };

  const member = {
    podSelector: {
      matchLabels: {
        'app.kubernetes.io/managed-by': 'vmcp-operator',
        'app.kubernetes.io/component': 'virtualmcpserver',
      },
    },
  };
  const kinds = [
    { kind: 'VirtualMCPServer', policy: 'vmcp-operator-servers', members: [] },
    { kind: 'MCPRemoteProxy', policy: 'vmcp-operator-remote-proxies', members: [member] },
    { kind: 'MCPServer', policy: 'vmcp-operator-fronts', members: [member] },
  ];

  for (const { kind, policy } of kinds) {
    test(`selects every runtime of kind ${kind}, and leaves MCP open and the management port to the operator`, async () => {
      const { podSelector, policyTypes, ingress } = policyOf(
        await render('networkPolicy.serverNamespaces={team-a}'),
        policy,
      );
      const server = { apiVersion: 'vmcp.dev/v1beta1', kind, metadata: { name: 'any' } };
      const labels = podLabelsOf(server);
      for (const [name, value] of Object.entries(podSelector.matchLabels)) assert.equal(labels[name], value);
      assert.deepEqual(policyTypes, ['Ingress']);
      assert.deepEqual(ingress, [{ ports: tcp(MCP_PORT) }, { ports: tcp(MANAGEMENT_PORT), from: [operator] }]);
    });
  }

  test('leaves containers alone: they listen where they like', async () => {
    const objects = await render('networkPolicy.serverNamespaces={team-a}');
    const server = { apiVersion: 'vmcp.dev/v1beta1', kind: 'MCPServer', metadata: { name: 'any' } };
    for (const child of [childOf(server), childOf(server, 'backend')]) {
      const labels = labelsOfChild(child);
      const selecting = kinds.filter(({ policy }) =>
        Object.entries(policyOf(objects, policy).podSelector.matchLabels).every(
          ([name, value]) => labels[name] === value,
        ),
      );
      assert.deepEqual(selecting, []);
    }
  });

  test('is made in each namespace, for the clients and scrapers that are named, and members for their group', async () => {
    const objects = await renderJson(
      'networkPolicy.serverNamespaces=["team-a","team-b"]',
      `networkPolicy.clients=${JSON.stringify([GATEWAY])}`,
      `networkPolicy.scrapers=${JSON.stringify([PROMETHEUS])}`,
    );
    for (const { policy, members } of kinds) {
      const policies = objects.filter((each) => each.kind === 'NetworkPolicy' && each.metadata.name === policy);
      assert.deepEqual(
        policies.map(({ metadata }) => metadata.namespace),
        ['team-a', 'team-b'],
      );
      for (const each of policies) {
        assert.deepEqual(policyOf([each], policy).ingress, [
          { ports: tcp(MCP_PORT), from: [GATEWAY, ...members] },
          { ports: tcp(MANAGEMENT_PORT), from: [operator, PROMETHEUS] },
        ]);
      }
    }
  });
});
