import type { KubeObject } from '../../../object.ts';
import { hashOf } from '../../canonical.ts';
import { CONTAINER } from '../../mcp-server/spec.ts';
import { type PodTemplate, customizedPodTemplate } from '../../pod-template.ts';
import { type ServerSpec, imagePullSecrets, passwordOf } from '../../server-spec.ts';
import type { Settings } from '../../settings.ts';
import { RESTRICTED } from '../../workload/pod.ts';
import { podsOf } from '../../workload/running-workload.ts';
import { type MountedFiles, fileMounts, fileVolumes } from './mounted-files.ts';
import { MANAGEMENT_PORT, MCP_PORT, childName, podLabelsOf } from './names.ts';

const CONFIG_DIRECTORY = '/etc/vmcp/config';
/** Names of ours in the pod template, where a user's volumes are merged by name. */
const CONFIG_VOLUME = 'vmcp-config';
const TEMPORARY_VOLUME = 'vmcp-tmp';
const TRUSTED_CA = { volume: 'vmcp-trusted-ca', directory: '/etc/vmcp/trusted-ca', file: 'ca.crt' } as const;

/** Keys of the ConfigMap that the pod sees; the others are the operator's own (docs/decisions.md "Last good spec"). */
export const MOUNTED_KEYS = ['config.yaml', 'backends.yaml'] as const;

/** Annotation of the pod template, and so another name for the ConfigMap. */
const INSTEAD_OF = 'vmcp.dev/instead-of-config';

export interface PodTemplateInput {
  readonly server: KubeObject;
  readonly spec: ServerSpec;
  readonly settings: Settings;
  /** Hash over the config keys that cannot change live: a new one rolls the pods. */
  readonly startupHash: string;
  readonly mounted: MountedFiles;
  /** Uid of the ConfigMap that another one is mounted in place of (`replacedConfigMapUidOf`). */
  readonly replacedConfigMapUid?: string | undefined;
}

/** The pod template with the user's over it, without the name of its ConfigMap, which is made from this very value. */
export const podTemplate = (input: PodTemplateInput, configMapName = ''): PodTemplate =>
  customizedPodTemplate(ownTemplate(input, configMapName), input.spec.podTemplateSpec);

const ownTemplate = (input: PodTemplateInput, configMapName: string): PodTemplate => ({
  metadata: {
    labels: podLabelsOf(input.server),
    annotations: {
      'vmcp.dev/startup-hash': input.startupHash,
      ...(input.replacedConfigMapUid !== undefined && { [INSTEAD_OF]: input.replacedConfigMapUid }),
    },
  },
  spec: {
    serviceAccountName: serviceAccountName(input),
    // The runtime holds no Kubernetes client (docs/architecture.md "One direction").
    automountServiceAccountToken: false,
    // A Service called vmcp-port would become VMCP_PORT_…, and every VMCP_* variable is a flag of the runtime.
    enableServiceLinks: false,
    terminationGracePeriodSeconds: 45,
    securityContext: RESTRICTED.pod,
    ...imagePullSecrets(input.spec),
    containers: [container(input)],
    volumes: [
      {
        name: CONFIG_VOLUME,
        configMap: { name: configMapName, items: MOUNTED_KEYS.map((key) => ({ key, path: key })) },
      },
      { name: TEMPORARY_VOLUME, emptyDir: {} },
      ...trustedCaVolumes(input.settings),
      ...fileVolumes(input.mounted),
    ],
  },
});

/**
 * docs/decisions.md "Config in the cluster": the first 10 hex digits over the template whose ConfigMap name is empty.
 */
export const configMapName = (input: PodTemplateInput): string =>
  `${childName(input.server)}-${hashOf(podTemplate(input), 10)}`;

/** docs/decisions.md "Container defaults" */
const DEFAULT_RESOURCES = { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '512Mi' } };

const container = ({ settings, spec, mounted }: PodTemplateInput): Readonly<Record<string, unknown>> => ({
  name: 'vmcp',
  image: settings.runtimeImage,
  args: ['serve', '-c', `${CONFIG_DIRECTORY}/config.yaml`],
  ports: [
    { name: 'http', containerPort: MCP_PORT, protocol: 'TCP' },
    { name: 'management', containerPort: MANAGEMENT_PORT, protocol: 'TCP' },
  ],
  ...environment([...passwordEnv(spec), ...trustedCaEnv(settings)]),
  resources: spec.resources ?? DEFAULT_RESOURCES,
  // Every second until it is up, so that a first call need not wait; then at rest.
  startupProbe: { ...probe('/healthz'), periodSeconds: 1, failureThreshold: 60 },
  readinessProbe: { ...probe('/readyz'), periodSeconds: 5, timeoutSeconds: 3, failureThreshold: 2 },
  livenessProbe: { ...probe('/healthz'), periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 3 },
  securityContext: { ...RESTRICTED.container, readOnlyRootFilesystem: true },
  volumeMounts: [
    { name: CONFIG_VOLUME, mountPath: CONFIG_DIRECTORY, readOnly: true },
    { name: TEMPORARY_VOLUME, mountPath: '/tmp' },
    ...(settings.trustedCa === undefined
      ? []
      : [{ name: TRUSTED_CA.volume, mountPath: TRUSTED_CA.directory, readOnly: true }]),
    ...fileMounts(mounted),
  ],
});

const environment = (variables: readonly object[]): object => (variables.length > 0 ? { env: variables } : {});

/** Optional: a namespace without it has servers that trust the public authorities alone. */
const trustedCaVolumes = ({ trustedCa }: Settings): readonly object[] =>
  trustedCa === undefined
    ? []
    : [
        {
          name: TRUSTED_CA.volume,
          configMap: {
            name: trustedCa.configMap,
            items: [{ key: trustedCa.key, path: TRUSTED_CA.file }],
            optional: true,
          },
        },
      ];

/** Node reads the file when the process starts. */
const trustedCaEnv = ({ trustedCa }: Settings): readonly object[] =>
  trustedCa === undefined ? [] : [{ name: 'NODE_EXTRA_CA_CERTS', value: `${TRUSTED_CA.directory}/${TRUSTED_CA.file}` }];

/**
 * The password reaches the pod twice (docs/decisions.md "Secrets in files"): as a file, which follows the secret when
 * it rotates, and as the variable that `vmcp serve` knows. Both are optional: a missing secret makes the store
 * unavailable, and the pod starts.
 */
const passwordEnv = (spec: ServerSpec): readonly object[] => {
  const password = passwordOf(spec);
  return password === undefined
    ? []
    : [
        {
          name: PASSWORD_VARIABLE,
          valueFrom: { secretKeyRef: { name: password.name, key: password.key, optional: true } },
        },
      ];
};

const PASSWORD_VARIABLE = 'VMCP_SESSION_KVSTORE_PASSWORD';

const probe = (path: string): Readonly<Record<string, unknown>> => ({ httpGet: { path, port: 'management' } });

/** `spec.serviceAccount` of docs/resources.md "VirtualMCPServer"; without it one is made. */
const serviceAccountName = ({ server, spec }: PodTemplateInput): string => spec.serviceAccount ?? childName(server);

/**
 * Name of the ConfigMap that a pod, or the template of one, mounts as its config; absent in those that are not ours.
 */
export const mountedConfigMap = (workload: KubeObject): string | undefined =>
  podsOf(workload).spec.volumes?.find(({ name }) => name === CONFIG_VOLUME)?.configMap?.name;

/**
 * Uid of a ConfigMap that is lost to its pods. The kubelet never reads an immutable ConfigMap again, not even another
 * one of that name, and one whose deletion a finalizer blocks cannot be made anew: new pods mount another ConfigMap, as
 * long as this Deployment exists.
 */
export const replacedConfigMapUidOf = (
  deployment: KubeObject | undefined,
  configMaps: readonly KubeObject[],
): string | undefined => {
  if (deployment === undefined) return undefined;
  const name = mountedConfigMap(deployment);
  const lost = configMaps.find((each) => each.metadata.name === name && isBeyondRepair(each));
  return lost?.metadata.uid ?? podsOf(deployment).annotations[INSTEAD_OF];
};

const isBeyondRepair = (configMap: KubeObject): boolean =>
  configMap['immutable'] === true || configMap.metadata.deletionTimestamp !== undefined;

/**
 * Are these pods the runtime, and not the container of an MCPServer from before it had a runtime in front? Its author
 * may call a volume as he likes there, but neither takes container `mcp` out of them nor puts one into pods of the
 * runtime.
 */
export const isRuntime = ({ kind }: KubeObject, workload: KubeObject): boolean =>
  mountedConfigMap(workload) !== undefined &&
  !(kind === 'MCPServer' && podsOf(workload).spec.containers?.some(({ name }) => name === CONTAINER) === true);
