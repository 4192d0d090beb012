/** A pod template, and patches that kubectl and we put over it. */

export const template = {
  metadata: {
    labels: { app: 'vmcp', tier: 'tools' },
    annotations: { 'vmcp.dev/startup-hash': 'abc' },
    finalizers: ['a', 'b'],
  },
  spec: {
    serviceAccountName: 'vmcp-demo',
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 45,
    securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    imagePullSecrets: [{ name: 'a' }, { name: 'b' }],
    hostAliases: [{ ip: '10.0.0.1', hostnames: ['one', 'two'] }],
    nodeSelector: { disk: 'ssd' },
    tolerations: [{ key: 'old', operator: 'Exists' }],
    schedulingGates: [{ name: 'wait' }],
    resourceClaims: [{ name: 'gpu', resourceClaimName: 'shared' }],
    topologySpreadConstraints: [{ topologyKey: 'zone', maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule' }],
    initContainers: [{ name: 'init', image: 'init:1' }],
    containers: [
      {
        name: 'vmcp',
        image: 'vmcp:1',
        args: ['serve', '-c', '/etc/vmcp/config/config.yaml'],
        ports: [
          { name: 'http', containerPort: 4483, protocol: 'TCP' },
          { name: 'management', containerPort: 4484, protocol: 'TCP' },
        ],
        env: [
          { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'redis', key: 'password', optional: true } } },
          { name: 'LEVEL', value: 'info' },
        ],
        resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '512Mi' } },
        livenessProbe: { httpGet: { path: '/healthz', port: 'management' }, periodSeconds: 10 },
        securityContext: { readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
        volumeDevices: [{ name: 'raw', devicePath: '/dev/x' }],
        volumeMounts: [
          { name: 'vmcp-config', mountPath: '/etc/vmcp/config', readOnly: true },
          { name: 'vmcp-tmp', mountPath: '/tmp' },
        ],
      },
    ],
    volumes: [
      { name: 'vmcp-config', configMap: { name: '', items: [{ key: 'config.yaml', path: 'config.yaml' }] } },
      { name: 'vmcp-tmp', emptyDir: {} },
    ],
  },
};

const vmcp = (change: object) => ({ spec: { containers: [{ name: 'vmcp', ...change }] } });

/** What each says, for the name of a test, and the patch. */
export const patches: readonly (readonly [title: string, patch: object])[] = [
  ['an empty patch', {}],
  ['labels and annotations, one removed', { metadata: { labels: { team: 'a', tier: null }, annotations: { x: 'y' } } }],
  ['finalizers are added once', { metadata: { finalizers: ['c', 'b'] } }],
  ['a finalizer leaves', { metadata: { '$deleteFromPrimitiveList/finalizers': ['a'] } }],
  [
    'a finalizer leaves and one comes, in an order',
    {
      metadata: {
        finalizers: ['c'],
        '$deleteFromPrimitiveList/finalizers': ['a'],
        '$setElementOrder/finalizers': ['c', 'b'],
      },
    },
  ],
  ['an owner', { metadata: { ownerReferences: [{ uid: 'u', name: 'n', kind: 'K', apiVersion: 'v1' }] } }],
  ['a single value', { spec: { terminationGracePeriodSeconds: 60 } }],
  ['false and zero are values', { spec: { terminationGracePeriodSeconds: 0, automountServiceAccountToken: false } }],
  ['null removes a field and a map', { spec: { terminationGracePeriodSeconds: null, nodeSelector: null } }],
  ['null of what is not there', { spec: { priorityClassName: null, affinity: { nodeAffinity: null } } }],
  ['a map of another field', { spec: { nodeSelector: { zone: 'a' } } }],
  ['a map with null', { spec: { nodeSelector: { disk: null, zone: 'a' } } }],
  ['a map is replaced', { spec: { nodeSelector: { $patch: 'replace', zone: 'a' } } }],
  ['a map is emptied', { spec: { nodeSelector: { $patch: 'delete' } } }],
  ['the keys of a map that stay', { spec: { securityContext: { $retainKeys: ['fsGroup'], fsGroup: 1000 } } }],
  ['tolerations are one value', { spec: { tolerations: [{ key: 'new', operator: 'Exists' }] } }],
  ['pull secrets by name', { spec: { imagePullSecrets: [{ name: 'b' }, { name: 'c' }] } }],
  ['a pull secret leaves', { spec: { imagePullSecrets: [{ name: 'a', $patch: 'delete' }] } }],
  ['all pull secrets are replaced', { spec: { imagePullSecrets: [{ $patch: 'replace' }, { name: 'z' }] } }],
  ['all pull secrets leave', { spec: { imagePullSecrets: [{ $patch: 'replace' }] } }],
  ['an empty list changes nothing of a merged one', { spec: { imagePullSecrets: [], tolerations: [] } }],
  ['host aliases by address', { spec: { hostAliases: [{ ip: '10.0.0.1', hostnames: ['x'] }, { ip: '10.0.0.2' }] } }],
  ['scheduling gates', { spec: { schedulingGates: [{ name: 'more' }] } }],
  ['a resource claim by name', { spec: { resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 't' }] } }],
  [
    'a resource claim of another source',
    {
      spec: {
        resourceClaims: [
          { name: 'gpu', $retainKeys: ['name', 'resourceClaimTemplateName'], resourceClaimTemplateName: 't' },
        ],
      },
    },
  ],
  [
    'spread by topology key',
    {
      spec: {
        topologySpreadConstraints: [
          { topologyKey: 'zone', maxSkew: 2 },
          { topologyKey: 'host', maxSkew: 1, whenUnsatisfiable: 'ScheduleAnyway' },
        ],
      },
    },
  ],
  ['an init container changes', { spec: { initContainers: [{ name: 'init', env: [{ name: 'A', value: 'b' }] }] } }],
  ['an ephemeral container', { spec: { ephemeralContainers: [{ name: 'debug', image: 'debug:1' }] } }],
  ['a sidecar', { spec: { containers: [{ name: 'sidecar', image: 'proxy:1', ports: [{ containerPort: 53 }] }] } }],
  [
    'sidecars and the server, in an order',
    {
      spec: {
        containers: [
          { name: 'a', image: 'a' },
          { name: 'vmcp', image: 'vmcp:2' },
          { name: 'b', image: 'b' },
        ],
        '$setElementOrder/containers': [{ name: 'a' }, { name: 'vmcp' }, { name: 'b' }],
      },
    },
  ],
  [
    'the server leaves',
    {
      spec: {
        containers: [
          { name: 'vmcp', $patch: 'delete' },
          { name: 'x', image: 'x' },
        ],
      },
    },
  ],
  ['image, args and resources', vmcp({ image: 'vmcp:2', args: ['x'], resources: { limits: { cpu: '2' } } })],
  ['a limit leaves', vmcp({ resources: { limits: { memory: null }, requests: { cpu: '1' } } })],
  ['an argument leaves', vmcp({ '$deleteFromPrimitiveList/args': ['-c'] })],
  ['arguments in another order', vmcp({ '$setElementOrder/args': ['-c', 'serve'] })],
  ['an order alone', vmcp({ '$setElementOrder/env': [{ name: 'LEVEL' }, { name: 'PASSWORD' }] })],
  [
    'env by name, new first',
    vmcp({
      env: [
        { name: 'NEW', value: '1' },
        { name: 'LEVEL', value: 'debug' },
      ],
    }),
  ],
  ['a value beside valueFrom', vmcp({ env: [{ name: 'PASSWORD', value: 'x' }] })],
  ['a value instead of valueFrom', vmcp({ env: [{ name: 'PASSWORD', value: 'x', valueFrom: null }] })],
  [
    'a value instead of valueFrom by retained keys',
    vmcp({ env: [{ name: 'PASSWORD', $retainKeys: ['name', 'value'], value: 'x' }] }),
  ],
  ['a variable leaves', vmcp({ env: [{ name: 'LEVEL', $patch: 'delete' }] })],
  [
    'a variable leaves, one comes, in an order',
    vmcp({
      '$setElementOrder/env': [{ name: 'B' }, { name: 'PASSWORD' }],
      env: [
        { name: 'B', value: 'b' },
        { name: 'LEVEL', $patch: 'delete' },
      ],
    }),
  ],
  ['a port of a number that is there', vmcp({ ports: [{ containerPort: 4483, protocol: 'UDP', name: 'quic' }] })],
  [
    'two ports of one number are one to the merge',
    vmcp({
      ports: [
        { containerPort: 53, protocol: 'TCP', name: 'dns-tcp' },
        { containerPort: 53, protocol: 'UDP', name: 'dns' },
      ],
    }),
  ],
  [
    'a mount by its path',
    vmcp({
      volumeMounts: [
        { mountPath: '/tmp', name: 'mine' },
        { mountPath: '/b', name: 'b' },
      ],
    }),
  ],
  [
    'a device by its path',
    vmcp({
      volumeDevices: [
        { devicePath: '/dev/x', name: 'y' },
        { devicePath: '/z', name: 'z' },
      ],
    }),
  ],
  ['another probe', vmcp({ livenessProbe: { $patch: 'replace', exec: { command: ['true'] } } })],
  ['another probe by retained keys', vmcp({ livenessProbe: { $retainKeys: ['exec'], exec: { command: ['true'] } } })],
  ['a probe leaves', vmcp({ livenessProbe: null, readinessProbe: null })],
  ['capabilities are one value', vmcp({ securityContext: { capabilities: { drop: ['NET_RAW'], add: ['CHOWN'] } } })],
  ['a volume beside another source', { spec: { volumes: [{ name: 'vmcp-tmp', hostPath: { path: '/x' } }] } }],
  [
    'a volume of another source',
    { spec: { volumes: [{ name: 'vmcp-tmp', $retainKeys: ['name', 'hostPath'], hostPath: { path: '/x' } }] } },
  ],
  ['a volume of the same source', { spec: { volumes: [{ name: 'vmcp-tmp', emptyDir: { medium: 'Memory' } }] } }],
  [
    'volumes come and go',
    {
      spec: {
        volumes: [
          { name: 'new', emptyDir: {} },
          { name: 'vmcp-tmp', $patch: 'delete' },
        ],
      },
    },
  ],
  ['everything is replaced', { spec: { $patch: 'replace', containers: [{ name: 'x', image: 'x' }] } }],
  ['everything is deleted', { spec: { $patch: 'delete' }, metadata: null }],
  ['a value of another type', { spec: { nodeSelector: 'text', tolerations: { a: 'b' } } }],
  ['fields that nobody knows', { spec: { futureField: { deep: [1, { x: null, y: 2 }] }, future: 'x' } }],
];
