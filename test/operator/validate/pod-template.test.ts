import assert from 'node:assert/strict';
import { test } from 'node:test';
import { made } from '../plan/made.ts';
import { server } from '../plan/plan-of-demo.ts';
import { toldOf } from './violation-texts.ts';

const told = (podTemplateSpec: unknown): readonly string[] => toldOf(server({ podTemplateSpec }));
const pod = (spec: unknown) => ({ spec });
const vmcp = (change: object) => pod({ containers: [{ name: 'vmcp', ...change }] });

const fine: readonly (readonly [what: string, template: object])[] = [
  ['nothing', {}],
  ['no metadata', { metadata: null }],
  ['labels of the selector, which have no effect', { metadata: { labels: { 'app.kubernetes.io/name': 'mine' } } }],
  ['the server container', vmcp({ image: 'vmcp:2', args: ['x'], securityContext: null, livenessProbe: null })],
  ['a mount of its own', vmcp({ volumeMounts: [{ name: 'mine', mountPath: '/mine' }] })],
  ['another place for temporary files', pod({ volumes: [{ name: 'vmcp-tmp', emptyDir: { medium: 'Memory' } }] })],
  [
    'a sidecar that reads the config',
    pod({ containers: [{ name: 'x', volumeMounts: [{ name: 'vmcp-config', mountPath: '/etc/vmcp/config' }] }] }),
  ],
  ['no containers, which would be ours too', pod({ initContainers: [], serviceAccountName: 'other' })],
];

for (const [what, template] of fine) test(`may be changed: ${what}`, () => assert.deepEqual(told(template), []));

const AT = 'spec.podTemplateSpec';
const volumes = `${AT}.spec.volumes: removes the operator's volumes; name the volumes to add or to delete`;
const mounts = `removes the operator's mounts; name the mounts to add or to delete`;
const container = 'removes container vmcp, which is the server; name the containers to add or to delete';

const refused: readonly (readonly [what: string, template: object, violation: string])[] = [
  [
    'a container without a name',
    pod({ containers: [{ image: 'x' }] }),
    `${AT}.spec.containers[0]: has no name; set name, by which the elements of this list are told apart`,
  ],
  [
    'more than any pod has',
    pod({ containers: [{ name: 'vmcp', env: Array.from({ length: 2000 }, (_, index) => ({ name: `E${index}` })) }] }),
    `${AT}: has more than 2000 list elements; leave out what no pod needs`,
  ],
  ['labels that are a text', { metadata: { labels: 'x' } }, `${AT}.metadata.labels: is no map; write a map`],
  ['no server', pod({ containers: [{ name: 'vmcp', $patch: 'delete' }] }), `${AT}.spec.containers[0]: ${container}`],
  ['no pod', { spec: null }, `${AT}.spec.containers: ${container}`],
  ['no containers', pod({ containers: null }), `${AT}.spec.containers: ${container}`],
  [
    'other containers',
    pod({ containers: [{ $patch: 'replace' }, { name: 'x' }] }),
    `${AT}.spec.containers: ${container}`,
  ],
  ['another pod', { spec: { $patch: 'replace', priorityClassName: 'x' } }, `${AT}.spec.containers: ${container}`],
  [
    'the config volume',
    pod({ volumes: [{ name: 'vmcp-config', $patch: 'delete' }] }),
    `${AT}.spec.volumes[0]: volume vmcp-config is the operator's; give yours another name`,
  ],
  ['no volumes', pod({ volumes: null }), volumes],
  ['only volumes of its own', pod({ volumes: [{ $patch: 'replace' }, { name: 'mine', emptyDir: {} }] }), volumes],
  [
    'a mount over the secrets',
    vmcp({ volumeMounts: [{ name: 'mine', mountPath: '/etc/vmcp/secrets/redis' }] }),
    `${AT}.spec.containers[0].volumeMounts[0]: /etc/vmcp/secrets/redis is the operator's; mount it outside /etc/vmcp`,
  ],
  ['no mounts', vmcp({ volumeMounts: null }), `${AT}.spec.containers[0].volumeMounts: ${mounts}`],
  [
    'only some fields of the server',
    vmcp({ $retainKeys: ['name', 'image'], image: 'x' }),
    `${AT}.spec.containers[0].volumeMounts: ${mounts}`,
  ],
];

for (const [what, template, violation] of refused) {
  test(`refused with a remedy: ${what}`, () => assert.deepEqual(told(template), [violation]));
}

for (const transport of ['stdio', 'streamable-http', 'sse']) {
  test(`pods of an MCPServer (${transport}) may not look like the runtime`, () => {
    const spec = { volumes: [{ name: 'mine' }, { name: 'vmcp-config' }], containers: [{ name: 'vmcp', image: 'x' }] };
    assert.deepEqual(toldOf(made('MCPServer', 'it', { image: 'a', transport, podTemplateSpec: { spec } })), [
      `${AT}.spec.volumes[1]: volume vmcp-config is the operator's; give yours another name`,
      `${AT}.spec.containers[0]: container vmcp is the operator's; give yours another name`,
    ]);
  });
}

const ofEveryKind: Readonly<Record<string, object>> = {
  MCPServer: { image: 'a' },
  EmbeddingServer: { model: 'a' },
  MCPRemoteProxy: { remoteUrl: 'https://mcp.example.com' },
};

test('labels of vmcp.dev are refused in pods of every kind, for Services know the runtime by one', () => {
  const podTemplateSpec = { metadata: { labels: { team: 'x', 'vmcp.dev/runtime': 'true' } } };
  const word = `${AT}.metadata.labels[vmcp.dev/runtime]: labels of vmcp.dev are the operator's; give yours another prefix`;
  assert.deepEqual(told(podTemplateSpec), [word]);
  for (const [kind, spec] of Object.entries(ofEveryKind))
    assert.deepEqual(toldOf(made(kind, 'it', { ...spec, podTemplateSpec })), [word], kind);
});
