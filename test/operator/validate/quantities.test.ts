import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubeObject } from '../../../operator/object.ts';
import { toldOf } from './violation-texts.ts';

const server = (podTemplateSpec: object): KubeObject => ({
  apiVersion: 'vmcp.dev/v1beta1',
  kind: 'MCPServer',
  metadata: { name: 'it', namespace: 'default' },
  spec: { image: 'a', transport: 'sse', podTemplateSpec },
});

const ENDLESS = ['1e999999999', '1E-999999999', '9'.repeat(40), '1e1000', ''];
const places: readonly (readonly [string, (amount: unknown) => object])[] = [
  [
    'spec.containers[0].resources.limits.cpu',
    (cpu) => ({ containers: [{ name: 'mcp', resources: { limits: { cpu } } }] }),
  ],
  [
    'spec.initContainers[0].resources.requests.memory',
    (memory) => ({ initContainers: [{ name: 'a', resources: { requests: { memory } } }] }),
  ],
  ['spec.resources.limits.hugepages-2Mi', (amount) => ({ resources: { limits: { 'hugepages-2Mi': amount } } })],
  ['spec.overhead.cpu', (cpu) => ({ overhead: { cpu } })],
  ['spec.volumes[0].emptyDir.sizeLimit', (sizeLimit) => ({ volumes: [{ name: 'a', emptyDir: { sizeLimit } }] })],
  [
    'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests.storage',
    (storage) => ({
      volumes: [{ name: 'a', ephemeral: { volumeClaimTemplate: { spec: { resources: { requests: { storage } } } } } }],
    }),
  ],
  [
    'spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor',
    (divisor) => ({
      containers: [
        { name: 'mcp', env: [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor } } }] },
      ],
    }),
  ],
];

describe('an amount in a pod template', () => {
  for (const [place, spec] of places)
    test(`${place} is one that a cluster may have`, () => {
      for (const amount of ENDLESS) {
        const [told = ''] = toldOf(server({ spec: spec(amount) }));
        assert.match(told, /is no amount; write one like 500m, 2, 256Mi or 1e3$/);
        assert.ok(told.startsWith(`spec.podTemplateSpec.${place}: `), told);
      }
      for (const amount of ['500m', '2', 2, '0.5', '1e3', '10Gi', null])
        assert.deepEqual(toldOf(server({ spec: spec(amount) })), []);
    });

  test('what only has the name of one may be anything', () => {
    const spec = {
      nodeSelector: { storage: 'ssd', limits: 'none' },
      volumes: [{ name: 'a', csi: { volumeAttributes: { sizeLimit: 'x' } } }],
    };
    assert.deepEqual(toldOf(server({ spec, metadata: { annotations: { overhead: 'much' } } })), []);
  });
});
