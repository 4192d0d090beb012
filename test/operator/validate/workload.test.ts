import assert from 'node:assert/strict';
import { test } from 'node:test';
import { made } from '../plan/made.ts';
import { toldOf } from './violation-texts.ts';

const told = (kind: string, spec: object): readonly string[] => toldOf(made(kind, 'it', spec));
const server = (more: object): readonly string[] => told('MCPServer', { image: 'a', ...more });
const pod = (container: string) => ({
  podTemplateSpec: { spec: { containers: [{ name: container, imagePullPolicy: 'Always' }] } },
});
const without = (container: string) => ({
  podTemplateSpec: { spec: { containers: [{ name: container, $patch: 'delete' }] } },
});

test('amounts as Kubernetes writes them break no rule', () => {
  const quantities = { requests: { cpu: '0.5', memory: '64Mi' }, limits: { cpu: '1e0', memory: '1G' } };
  assert.deepEqual(server({ resources: quantities, ...pod('mcp') }), []);
  assert.deepEqual(told('EmbeddingServer', { modelCache: { size: '1.5Ti' }, ...pod('embedding') }), []);
});

const broken: readonly (readonly [what: string, spec: object, violations: readonly string[]])[] = [
  [
    'more than the limit',
    { resources: { requests: { memory: '1Gi' }, limits: { memory: '512Mi' } } },
    ['spec.resources.requests.memory: asks for 1Gi, and the limit is 512Mi; ask for less, or raise the limit'],
  ],
  [
    'two values of one variable',
    {
      env: [{ name: 'TOKEN', value: 'a' }],
      secrets: [
        { name: 's', key: 'TOKEN' },
        { name: 's', key: 'other', targetEnvName: 'TOKEN' },
      ],
    },
    [0, 1].map(
      (index) =>
        `spec.secrets[${index}]: the variable TOKEN has another value already; set targetEnvName to a name of its own, or remove one of them`,
    ),
  ],
  [
    'a pod without its server',
    without('mcp'),
    [
      'spec.podTemplateSpec.spec.containers[0]: removes container mcp, which is the server; name the containers to add or to delete',
    ],
  ],
];

for (const [what, spec, violations] of broken) {
  test(`MCPServer: ${what} is reported with what to do`, () => assert.deepEqual(server(spec), violations));
}

test('EmbeddingServer: what is no size, and a pod without its server, are reported with what to do', () => {
  for (const size of ['0', '0Gi', '.0e9']) {
    assert.deepEqual(told('EmbeddingServer', { modelCache: { size } }), [
      `spec.modelCache.size: ${JSON.stringify(size)} is no size of a volume; write one like 10Gi`,
    ]);
  }
  assert.match(told('EmbeddingServer', without('embedding')).join(), /removes container embedding/);
});
