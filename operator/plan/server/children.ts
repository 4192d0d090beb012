import type { KubeObject } from '../../object.ts';
import type { ConfigFiles } from '../plan.ts';
import { metadataOfChild } from '../workload/child.ts';
import { childName, labelsOf, podLabelsOf, servicePort } from './names.ts';
import { type PodTemplateInput, configMapName, podTemplate } from './pod-template.ts';
import type { ServerSpec } from './spec.ts';

const metadata = (server: KubeObject, name: string): KubeObject['metadata'] =>
  metadataOfChild({ owner: server, name, component: server.kind.toLowerCase() });

/** spec: spec.serviceAccount; the managed account gets only `spec.imagePullSecrets` (spec: imagePullSecrets 4). */
export const serviceAccount = (server: KubeObject, spec: ServerSpec): KubeObject | undefined =>
  spec.serviceAccount === undefined
    ? {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: metadata(server, childName(server)),
        automountServiceAccountToken: false,
        ...(spec.imagePullSecrets !== undefined &&
          spec.imagePullSecrets.length > 0 && { imagePullSecrets: spec.imagePullSecrets }),
      }
    : undefined;

/** The management port is not on it (decisions "ports"). */
export const service = (server: KubeObject, spec: ServerSpec): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: metadata(server, childName(server)),
  spec: {
    type: spec.serviceType ?? 'ClusterIP',
    sessionAffinity: spec.sessionAffinity ?? 'ClientIP',
    selector: podLabelsOf(server),
    ports: [{ name: 'http', port: servicePort(server), targetPort: 'http', protocol: 'TCP', appProtocol: 'http' }],
  },
});

export const configMap = (server: KubeObject, name: string, data: ConfigFiles): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: metadata(server, name),
  data,
});

export const deployment = (input: PodTemplateInput): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: metadata(input.server, childName(input.server)),
  spec: {
    // Without it the count belongs to an autoscaler (spec: replicas).
    ...(input.spec.replicas !== undefined && { replicas: input.spec.replicas }),
    revisionHistoryLimit: 2,
    selector: { matchLabels: labelsOf(input.server) },
    // A new pod is ready before an old one goes, so that a rollout costs no call.
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    template: podTemplate(input, configMapName(input)),
  },
});
