import { type PodTemplate, customizedPodTemplate } from '../pod-template.ts';
import { type Child, labelsOfChild } from './child.ts';

type Value = Readonly<Record<string, unknown>>;

/** A variable of a container: a value, or the key of a Secret. */
export interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string; optional: true } };
}

/** A missing Secret fails what uses it, and not the pod (docs/architecture.md "Secrets stay in Secrets"). */
export const secretVariable = (name: string, secret: { readonly name: string; readonly key: string }): Variable => ({
  name,
  valueFrom: { secretKeyRef: { name: secret.name, key: secret.key, optional: true } },
});

/** Each name once; a later list, which is the user's, wins. */
export const variables = (...lists: readonly (readonly Variable[] | undefined)[]): Value => {
  const env = [...new Map(lists.flatMap((list) => list ?? []).map((each) => [each.name, each])).values()];
  return env.length === 0 ? {} : { env };
};

/** Pod Security Standard "restricted". The root file system stays writable: an image of others may write anywhere. */
export const RESTRICTED = {
  pod: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
  container: {
    allowPrivilegeEscalation: false,
    runAsNonRoot: true,
    capabilities: { drop: ['ALL'] },
    seccompProfile: { type: 'RuntimeDefault' },
  },
} as const;

export interface WorkloadPod {
  readonly container: Value;
  /** More containers, which are ours. */
  readonly beside?: readonly Value[];
  /** More fields of the pod's spec. */
  readonly more?: Value;
  /** Free-form: a strategic merge patch over what is made here. */
  readonly patch: Value | undefined;
}

/** Pods around a container of a third party. What the patch says wins. */
export const workloadTemplate = (
  child: Child,
  { container, beside = [], more = {}, patch }: WorkloadPod,
): PodTemplate =>
  customizedPodTemplate(
    {
      metadata: { labels: labelsOfChild(child) },
      spec: {
        // Services of the namespace would become variables of the container.
        enableServiceLinks: false,
        securityContext: RESTRICTED.pod,
        ...more,
        containers: [{ ...container, securityContext: RESTRICTED.container }, ...beside],
      },
    },
    patch,
  );
