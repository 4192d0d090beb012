import { mountsConfigMap } from './mounts.ts';
import type { KubeObject } from '../object.ts';

/** Whether `child` cannot exist without `other`: where `other` is not as planned, `child` is not applied either. */
export const dependsOn = (child: KubeObject, other: KubeObject): boolean => {
  if (child.kind === 'RoleBinding') return isBoundBy(child, other);
  const template = (child['spec'] as { readonly template?: Template } | undefined)?.template;
  return template !== undefined && (isBackendServiceOf(child, other) || isRequiredByPods(template, other));
};

/**
 * The Service of that name may be foreign, and the requests of the runtime in front are not for that container
 * (docs/decisions.md "Names of children").
 */
const isBackendServiceOf = ({ metadata }: KubeObject, other: KubeObject): boolean =>
  other.kind === 'Service' && other.metadata.name === `${metadata.name}-backend`;

interface Template {
  readonly metadata?: { readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: { readonly serviceAccountName?: string };
}

/** The Role of that name may be foreign, with rights that the operator does not mean to grant. */
const isBoundBy = (binding: KubeObject, { kind, metadata }: KubeObject): boolean => {
  const { roleRef } = binding as { readonly roleRef?: { readonly kind: string; readonly name: string } };
  return kind === roleRef?.kind && metadata.name === roleRef.name;
};

/**
 * A pod never starts before what it mounts, without its account and its rights, or before the policy that says who may
 * reach it.
 */
const isRequiredByPods = ({ metadata, spec }: Template, other: KubeObject): boolean => {
  const { name } = other.metadata;
  switch (other.kind) {
    case 'ServiceAccount':
      return spec?.serviceAccountName === name;
    case 'RoleBinding':
      return isSubject(other, spec?.serviceAccountName);
    case 'ConfigMap':
      return mountsConfigMap(spec, name);
    case 'NetworkPolicy':
      return selects(other, metadata?.labels ?? {});
    default:
      return false;
  }
};

/** The rights that its account has for this very workload. */
const isSubject = (binding: KubeObject, account: string | undefined): boolean => {
  const { subjects = [] } = binding as { readonly subjects?: readonly { readonly name: string }[] };
  return subjects.some(({ name }) => name === account);
};

const selects = (policy: KubeObject, labels: Readonly<Record<string, string>>): boolean => {
  const { podSelector } = policy['spec'] as {
    readonly podSelector?: { readonly matchLabels?: Readonly<Record<string, string>> };
  };
  return Object.entries(podSelector?.matchLabels ?? {}).every(([label, value]) => labels[label] === value);
};
