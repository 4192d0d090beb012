import { mountsConfigMap } from './mounts.ts';
import type { KubeObject } from '../object.ts';

/** What a child cannot be without: where one of these is not as planned, it is not made either. */
export const needs = (child: KubeObject, other: KubeObject): boolean => {
  if (child.kind === 'RoleBinding') return isBoundBy(child, other);
  const template = (child['spec'] as { readonly template?: Template } | undefined)?.template;
  return template !== undefined && (leadsBehind(child, other) || isNeededByPods(template, other));
};

/**
 * A Service of that name may be somebody else's, and what the runtime in front sends is not for that container
 * (docs/decisions.md "Names of children").
 */
const leadsBehind = ({ metadata }: KubeObject, other: KubeObject): boolean =>
  other.kind === 'Service' && other.metadata.name === `${metadata.name}-backend`;

interface Template {
  readonly metadata?: { readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: { readonly serviceAccountName?: string };
}

/** A Role of that name may be somebody else's, with rights that nobody meant to give. */
const isBoundBy = (binding: KubeObject, { kind, metadata }: KubeObject): boolean => {
  const { roleRef } = binding as { readonly roleRef?: { readonly kind: string; readonly name: string } };
  return kind === roleRef?.kind && metadata.name === roleRef.name;
};

/**
 * A pod never starts before what it mounts, without its account and its rights, or before the policy that says who may
 * reach it.
 */
const isNeededByPods = ({ metadata, spec }: Template, other: KubeObject): boolean => {
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
