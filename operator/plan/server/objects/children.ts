import type { KubeObject } from '../../../object.ts';
import type { ConfigFiles } from '../../plan.ts';
import { type ServerSpec, imagePullSecrets } from '../../server-spec.ts';
import { metadataOfChild } from '../../workload/child.ts';
import * as workload from '../../workload/objects.ts';
import { podLabelsOf, servedChild, servicePort } from './names.ts';
import { type PodTemplateInput, configMapName, podTemplate } from './pod-template.ts';

/** The managed account gets only `spec.imagePullSecrets`: docs/decisions.md "Pull secrets" */
export const serviceAccount = (server: KubeObject, spec: ServerSpec): KubeObject | undefined =>
  spec.serviceAccount === undefined
    ? { ...workload.serviceAccount(servedChild(server)), ...imagePullSecrets(spec) }
    : undefined;

/** The management port is not on it (docs/decisions.md "Ports"). */
export const service = (server: KubeObject, spec: ServerSpec): KubeObject =>
  workload.service(servedChild(server), {
    type: spec.serviceType,
    sessionAffinity: spec.sessionAffinity,
    port: servicePort(server),
    selector: podLabelsOf(server),
    ...spec.config?.extensions?.service,
  });

/** The ConfigMap with the files of a server; its `name` (`configMapName`) changes with the pod template. */
export const configMap = (server: KubeObject, name: string, data: ConfigFiles): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: metadataOfChild({ ...servedChild(server), name }),
  data,
});

/** The Deployment of the runtime. */
export const deployment = (input: PodTemplateInput): KubeObject =>
  workload.deployment(servedChild(input.server), podTemplate(input, configMapName(input)), input.spec.replicas);
