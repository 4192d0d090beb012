import type { KubeObject } from '../../object.ts';
import type { PodTemplate } from '../pod-template.ts';
import { type Child, SERVICE_PORT, labelsOfChild, metadataOfChild } from './child.ts';

/** Name of the container port that the Service leads to. */
export const PORT_NAME = 'http';

type Value = Readonly<Record<string, unknown>>;

/** The account that is made where none is named: without rights, and its token is in no pod. */
export const serviceAccount = (child: Child): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: metadataOfChild(child),
  automountServiceAccountToken: false,
});

/** What a Service may say beside the usual. */
export interface ServiceFields {
  /** Default `ClientIP`: sessions lie in the memory of a pod. */
  readonly sessionAffinity?: string | undefined;
  /** Default ClusterIP. */
  readonly type?: string | undefined;
  /** Default `SERVICE_PORT`. */
  readonly port?: number;
  /** Default: the labels of the child. */
  readonly selector?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  /** Beside those of the child, which win. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/** The Service of a child: ClusterIP with session affinity by client address, unless the options say otherwise. */
export const service = (
  child: Child,
  {
    sessionAffinity = 'ClientIP',
    type = 'ClusterIP',
    port = SERVICE_PORT,
    selector = labelsOfChild(child),
    annotations = {},
    labels = {},
  }: ServiceFields,
): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {
    ...metadataOfChild(child),
    labels: { ...labels, ...labelsOfChild(child) },
    ...(Object.keys(annotations).length > 0 && { annotations }),
  },
  spec: {
    type,
    sessionAffinity,
    selector,
    ports: [{ name: PORT_NAME, port, targetPort: PORT_NAME, protocol: 'TCP', appProtocol: 'http' }],
  },
});

/** Without `replicas` the count belongs to an autoscaler (docs/decisions.md "Replicas may belong to others"). */
export const deployment = (child: Child, template: PodTemplate, replicas: number | undefined): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: metadataOfChild(child),
  spec: {
    ...(replicas !== undefined && { replicas }),
    revisionHistoryLimit: 2,
    selector: { matchLabels: labelsOfChild(child) },
    // A new pod is ready before an old one goes, so that a rollout costs no call.
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    template,
  },
});

/** The same for pods that have a name, or volumes, of their own; `more` are fields of its spec. */
export const statefulSet = (
  child: Child,
  template: PodTemplate,
  replicas: number | undefined,
  more: Value = {},
): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: metadataOfChild(child),
  spec: {
    ...(replicas !== undefined && { replicas }),
    revisionHistoryLimit: 2,
    serviceName: child.name,
    // One by one, a pod that cannot start would also keep its successor from being made.
    podManagementPolicy: 'Parallel',
    selector: { matchLabels: labelsOfChild(child) },
    template,
    ...more,
  },
});
