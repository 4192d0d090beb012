import type { KubeObject, OwnerReference } from '../../object.ts';
import type { Settings } from '../settings.ts';

/** Pods of a resource, the Service in front of them and their account: they share a name and a label. */
export interface Child {
  readonly owner: KubeObject;
  readonly name: string;
  /** Label that distinguishes them from others of the same owner. */
  readonly component: string;
}

/**
 * docs/decisions.md "Names of children": `mcpserver-<n>` and its like; `mcpserver-<n>-backend` for the container behind
 * a vmcp runtime.
 */
export const childOf = (owner: KubeObject, part?: 'backend'): Child => {
  const component = [owner.kind.toLowerCase(), ...(part === undefined ? [] : [part])];
  const [kind, ...rest] = component;
  return { owner, name: [kind, owner.metadata.name, ...rest].join('-'), component: component.join('-') };
};

/** docs/decisions.md "Labels of children": of every child, and all four together the selector of its pods. */
export const labelsOfChild = ({ owner, component }: Omit<Child, 'name'>): Readonly<Record<string, string>> => ({
  'app.kubernetes.io/name': 'vmcp',
  'app.kubernetes.io/instance': owner.metadata.name,
  'app.kubernetes.io/managed-by': 'vmcp-operator',
  'app.kubernetes.io/component': component,
});

/** None where there is no API server that gave the owner a uid (a directory of manifests). */
const ownerReferencesTo = (owner: KubeObject): readonly OwnerReference[] =>
  owner.metadata.uid === undefined
    ? []
    : [
        {
          apiVersion: owner.apiVersion,
          kind: owner.kind,
          name: owner.metadata.name,
          uid: owner.metadata.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ];

/** Our labels and one controlling owner, so that garbage collection needs no finalizer. */
export const metadataOfChild = (child: Child): KubeObject['metadata'] => {
  const ownerReferences = ownerReferencesTo(child.owner);
  return {
    name: child.name,
    namespace: child.owner.metadata.namespace ?? 'default',
    labels: labelsOfChild(child),
    ...(ownerReferences.length > 0 && { ownerReferences }),
  };
};

/** Port of the Service in front of a workload (docs/decisions.md "Ports"). */
export const SERVICE_PORT = 8080;

/** Every name its Service answers to inside the cluster, shortest first. */
export const hostsOfChild = ({ owner, name }: Child, { clusterDomain }: Settings): readonly string[] => {
  const qualified = `${name}.${owner.metadata.namespace ?? 'default'}`;
  return [name, qualified, `${qualified}.svc`, `${qualified}.svc.${clusterDomain}`];
};

/** Where its Service is reached inside the cluster. */
export const originOfChild = (child: Child, settings: Settings, port = SERVICE_PORT): string =>
  `http://${hostsOfChild(child, settings).at(-1)}:${port}`;
