import type { KubeObject } from '../../object.ts';
import type { PodTemplate } from '../pod-template.ts';
import type { Settings } from '../settings.ts';
import { type Child, SERVICE_PORT, hostsOfChild, metadataOfChild } from '../workload/child.ts';
import { PORT_NAME, service, statefulSet } from '../workload/objects.ts';
import { RESTRICTED } from '../workload/pod.ts';
import { containerAccount, containerTemplate } from './container.ts';
import { BRIDGE_TOKEN_VOLUME, MAX_BRIDGED_PODS } from '../../validate/index.ts';
import type { McpServerSpec } from './spec.ts';

type Value = Readonly<Record<string, unknown>>;

export interface BridgedDeps {
  readonly settings: Settings;
  /** The StatefulSet as it is, or what is there in its place. */
  readonly controller: KubeObject | undefined;
}

/** Pods that there are to be, or where that is left to an autoscaler, that there are. Each has its name in the Role. */
const replicasOf = (spec: McpServerSpec, controller: KubeObject | undefined): number => {
  const { replicas: present } = (controller?.kind === 'StatefulSet' ? controller['spec'] : {}) as {
    readonly replicas?: number;
  };
  // The default of Kubernetes is one replica.
  return Math.min(spec.replicas ?? present ?? 1, MAX_BRIDGED_PODS);
};

/**
 * Children of an MCPServer that speaks over its standard input and output, in the order they are applied. Each pod has
 * a bridge that attaches to the server beside it, so its name must be known before there is one: of a StatefulSet it
 * is.
 */
export const bridgedObjects = (spec: McpServerSpec, child: Child, deps: BridgedDeps): readonly KubeObject[] => [
  ...containerAccount(spec, child),
  role(child, replicasOf(spec, deps.controller)),
  roleBinding(child, spec.serviceAccount ?? child.name),
  service(child, spec),
  statefulSet(child, template(spec, child, deps.settings), spec.replicas),
];

/**
 * What the bridge does: attach (API servers from 1.35 on ask for `create` as well as for the `get` of a WebSocket), and
 * look which run of the container it is. Nothing else, and with no other pod.
 */
const role = (child: Child, replicas: number): KubeObject => {
  const names = (): readonly string[] => Array.from({ length: replicas }, (_, ordinal) => `${child.name}-${ordinal}`);
  const rules = [
    { apiGroups: [''], resources: ['pods/attach'], resourceNames: names(), verbs: ['get', 'create'] },
    { apiGroups: [''], resources: ['pods'], resourceNames: names(), verbs: ['get'] },
  ];
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata: metadataOfChild(child),
    // A rule without names would be one for all pods.
    rules: replicas === 0 ? [] : rules,
  };
};

const roleBinding = (child: Child, account: string): KubeObject => {
  const metadata = metadataOfChild(child);
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: child.name },
    subjects: [{ kind: 'ServiceAccount', name: account, namespace: metadata.namespace }],
  };
};

/**
 * The bridge is stopped at the same time, and lets calls end (`operator/bridge/serve.ts`): so long the server must
 * live.
 */
const STOPS_AFTER_SECONDS = 12;

const template = (spec: McpServerSpec, child: Child, settings: Settings): PodTemplate =>
  containerTemplate(spec, child, {
    container: {
      stdin: true,
      // The kubelet's own sleep: the image may hold no program that could.
      lifecycle: { preStop: { sleep: { seconds: STOPS_AFTER_SECONDS } } },
    },
    beside: [bridge(child, settings)],
    pod: {
      // Whatever the account says: with its token the server could attach to its siblings, as the bridges can.
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 30,
      volumes: [TOKEN_VOLUME],
    },
  });

const bridge = (child: Child, settings: Settings): Value => ({
  name: 'bridge',
  image: settings.bridgeImage,
  args: ['bridge'],
  env: [
    { name: 'VMCP_POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    { name: 'VMCP_ALLOWED_HOSTS', value: hostsOfChild(child, settings).join(',') },
  ],
  ports: [{ name: PORT_NAME, containerPort: SERVICE_PORT, protocol: 'TCP' }],
  // At rest 120 MiB; the rest is what its bounds let it hold (`operator/bridge/bounds.ts`).
  resources: { requests: { cpu: '10m', memory: '128Mi' }, limits: { memory: '384Mi' } },
  startupProbe: { ...probe('/healthz'), periodSeconds: 1, failureThreshold: 60 },
  // Ready is who is attached to a server that has said who it is.
  readinessProbe: { ...probe('/readyz'), periodSeconds: 2, timeoutSeconds: 3, failureThreshold: 2 },
  livenessProbe: { ...probe('/healthz'), periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 3 },
  securityContext: { ...structuredClone(RESTRICTED.container), readOnlyRootFilesystem: true },
  volumeMounts: [{ name: TOKEN_VOLUME.name, mountPath: TOKEN_DIRECTORY, readOnly: true }],
});

const probe = (path: string): Value => ({ httpGet: { path, port: PORT_NAME } });

/** Where programs in pods look for it, and where Kubernetes would put it into every container if that were not off. */
const TOKEN_DIRECTORY = '/var/run/secrets/kubernetes.io/serviceaccount';

/** The token volume that Kubernetes would mount, for the bridge alone: the server's image is a third party's. */
const TOKEN_VOLUME = {
  name: BRIDGE_TOKEN_VOLUME,
  projected: {
    sources: [
      { serviceAccountToken: { path: 'token', expirationSeconds: 3600 } },
      { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
      { downwardAPI: { items: [{ path: 'namespace', fieldRef: { fieldPath: 'metadata.namespace' } }] } },
    ],
  },
} as const;
