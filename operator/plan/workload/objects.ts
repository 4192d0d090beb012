import type { KubeObject } from '../../object.ts';
import type { PodTemplate } from '../pod-template.ts';
import { type Child, SERVICE_PORT, labelsOfChild, metadataOfChild } from './child.ts';

/** Name of the container port that the Service leads to. */
export const PORT_NAME = 'http';

/** The account that is made where none is named: without rights, and its token is in no pod. */
export const serviceAccount = (child: Child): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: metadataOfChild(child),
  automountServiceAccountToken: false,
});

export const service = (child: Child, sessionAffinity: 'ClientIP' | 'None'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: metadataOfChild(child),
  spec: {
    type: 'ClusterIP',
    sessionAffinity,
    selector: labelsOfChild(child),
    ports: [{ name: PORT_NAME, port: SERVICE_PORT, targetPort: PORT_NAME, protocol: 'TCP', appProtocol: 'http' }],
  },
});

/** Without `replicas` the count belongs to an autoscaler. */
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
