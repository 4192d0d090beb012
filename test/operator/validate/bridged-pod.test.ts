import assert from 'node:assert/strict';
import { test } from 'node:test';
import { made } from '../plan/made.ts';
import { toldOf } from './violation-texts.ts';

const told = (spec: object, transport = 'stdio'): readonly string[] =>
  toldOf(made('MCPServer', 'it', { image: 'a', transport, podTemplateSpec: { spec } }));
const containers = (...list: readonly object[]): object => ({ containers: list });
const token = { name: 'vmcp-bridge-token', mountPath: '/t' };

const fine: readonly (readonly [what: string, spec: object])[] = [
  ['what the bridge may use', containers({ name: 'bridge', resources: null, imagePullPolicy: 'Always' })],
  ['the server', containers({ name: 'mcp', stdin: true, tty: false, command: ['x'], securityContext: null })],
  ['a sidecar', containers({ name: 'x', image: 'y', volumeMounts: [{ name: 'mine', mountPath: '/mine' }] })],
  ['the token in every container, said aloud', { automountServiceAccountToken: true }],
  ['what is off by itself', { shareProcessNamespace: false, hostPID: null }],
  ['volumes of its own', { volumes: [{ name: 'mine', emptyDir: {} }] }],
];
for (const [what, spec] of fine) test(`may be changed: ${what}`, () => assert.deepEqual(told(spec), []));

const AT = 'spec.podTemplateSpec.spec';
const ours =
  "is the operator's; remove it; of container bridge only resources, securityContext, imagePullPolicy and probes can be changed";
const noBridge = 'removes container bridge, which is the way to the server; name the containers to add or to delete';
const noServer = 'removes container mcp, which is the server; name the containers to add or to delete';
const input = 'for the bridge to speak to the server; remove it, or set transport to how the server is spoken to';
const alone = 'volume vmcp-bridge-token is for container bridge alone; mount a volume of your own';
const account = 'the pods would have an account without the right to attach; remove it, or set spec.serviceAccount';
const noVolume = "removes the operator's volumes; name the volumes to add or to delete";

const refused: readonly (readonly [what: string, spec: object, ...violations: string[]])[] = [
  [
    'the processes of the bridge',
    { shareProcessNamespace: true },
    `${AT}.shareProcessNamespace: would show the files of container bridge to the server; remove it`,
  ],
  ['another account', { serviceAccountName: 'x' }, `${AT}.serviceAccountName: ${account}`],
  ['another account, by the name of old', { serviceAccount: 'x' }, `${AT}.serviceAccount: ${account}`],
  ['the account of the namespace', { serviceAccountName: null }, `${AT}.serviceAccountName: ${account}`],
  [
    'only some fields of the pod',
    { $retainKeys: ['containers', 'volumes'], volumes: [], containers: [] },
    `${AT}.serviceAccountName: ${account}`,
  ],
  [
    'the processes of the node',
    { hostPID: true },
    `${AT}.hostPID: would show the files of container bridge to the server; remove it`,
  ],
  ['no bridge', containers({ name: 'bridge', $patch: 'delete' }), `${AT}.containers[0]: ${noBridge}`],
  ['no server', containers({ name: 'mcp', $patch: 'delete' }), `${AT}.containers[0]: ${noServer}`],
  ['no containers', { containers: null }, `${AT}.containers: ${noServer}`],
  [
    'another program for the bridge',
    containers({ name: 'bridge', image: 'x', args: ['x'], env: [{ name: 'VMCP_POD', value: 'x' }] }),
    `${AT}.containers[0].image: ${ours}`,
    `${AT}.containers[0].args: ${ours}`,
    `${AT}.containers[0].env: ${ours}`,
  ],
  [
    'only some fields of the bridge',
    containers({ name: 'bridge', $retainKeys: ['name', 'resources'], resources: {} }),
    `${AT}.containers[0].$retainKeys: ${ours}`,
  ],
  ['no input', containers({ name: 'mcp', stdin: false }), `${AT}.containers[0].stdin: must be true ${input}`],
  ['no input any more', containers({ name: 'mcp', stdin: null }), `${AT}.containers[0].stdin: must be true ${input}`],
  ['input once', containers({ name: 'mcp', stdinOnce: true }), `${AT}.containers[0].stdinOnce: must be false ${input}`],
  ['a terminal', containers({ name: 'mcp', tty: true }), `${AT}.containers[0].tty: must be false ${input}`],
  [
    'the token in the server',
    containers({ name: 'mcp', volumeMounts: [token] }),
    `${AT}.containers[0].volumeMounts[0]: ${alone}`,
  ],
  [
    'the token in what runs before',
    { initContainers: [{ name: 'x', image: 'y', volumeMounts: [token] }] },
    `${AT}.initContainers[0].volumeMounts[0]: ${alone}`,
  ],
  [
    'another token',
    { volumes: [{ name: 'vmcp-bridge-token', $patch: 'delete' }] },
    `${AT}.volumes[0]: volume vmcp-bridge-token is the operator's; give yours another name`,
  ],
  ['no volumes', { volumes: null }, `${AT}.volumes: ${noVolume}`],
  [
    'only volumes of its own',
    { volumes: [{ $patch: 'replace' }, { name: 'x', emptyDir: {} }] },
    `${AT}.volumes: ${noVolume}`,
  ],
];

for (const [what, spec, ...violations] of refused)
  test(`refused with a remedy: ${what}`, () => assert.deepEqual(told(spec), violations));

test('servers of other transports have no bridge', () => {
  for (const [what, spec] of refused)
    if (!JSON.stringify(spec).includes('"mcp","$patch"') && what !== 'no containers' && what !== 'another token')
      assert.deepEqual(told(spec, 'streamable-http'), [], what);
});
