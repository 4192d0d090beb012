import type { KubeObject } from '../../object.ts';
import type { PodTemplate } from '../pod-template.ts';
import type { Child } from '../workload/child.ts';
import { PORT_NAME, service, statefulSet } from '../workload/objects.ts';
import { RESTRICTED, secretVariable, variables, workloadTemplate } from '../workload/pod.ts';
import { cacheClaims, cacheMount, cacheVariables, cacheVolumes } from './model-cache.ts';
import type { EmbeddingServerSpec, ModelCache } from './spec.ts';

type Value = Readonly<Record<string, unknown>>;

export const CONTAINER = 'embedding';

/** Service and StatefulSet of an EmbeddingServer, whose pods have volumes as `cache` says. */
export const embeddingObjects = (
  spec: EmbeddingServerSpec,
  child: Child,
  cache: ModelCache | undefined,
): readonly KubeObject[] => [
  // Every pod gives the same embeddings, so clients need no affinity.
  service(child, { sessionAffinity: 'None' }),
  statefulSet(child, template(spec, child, cache), spec.replicas, cacheClaims(cache)),
];

const template = (spec: EmbeddingServerSpec, child: Child, cache: ModelCache | undefined): PodTemplate =>
  workloadTemplate(child, {
    container: {
      name: CONTAINER,
      image: spec.image,
      imagePullPolicy: spec.imagePullPolicy,
      args: ['--model-id', spec.model, '--port', String(spec.port), ...(spec.args ?? [])],
      ...variables(cacheVariables, token(spec), spec.env),
      ...(spec.resources !== undefined && { resources: spec.resources }),
      ports: [{ name: PORT_NAME, containerPort: spec.port, protocol: 'TCP' }],
      // It answers once the model is loaded, which is fetched first: an hour for that, then at rest.
      startupProbe: { ...health(), periodSeconds: 5, failureThreshold: 720 },
      readinessProbe: { ...health(), periodSeconds: 5, timeoutSeconds: 3 },
      livenessProbe: { ...health(), periodSeconds: 30, timeoutSeconds: 10, failureThreshold: 3 },
      ...cacheMount(),
    },
    more: { automountServiceAccountToken: false, securityContext: NOBODY, ...cacheVolumes(cache) },
    patch: spec.podTemplateSpec,
  });

/** The usual image names no user, which would be root; the group lets this one write to the volume. */
const NOBODY = {
  ...RESTRICTED.pod,
  runAsUser: 65_532,
  runAsGroup: 65_532,
  fsGroup: 65_532,
  fsGroupChangePolicy: 'OnRootMismatch',
} as const;

const token = ({ hfTokenSecretRef }: EmbeddingServerSpec) =>
  hfTokenSecretRef === undefined ? [] : [secretVariable('HF_TOKEN', hfTokenSecretRef)];

const health = (): Value => ({ httpGet: { path: '/health', port: PORT_NAME } });
