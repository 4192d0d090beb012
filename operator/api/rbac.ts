/** One rule of a Role or ClusterRole, in the form `rules` has it. */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  /** Only these objects; absent: all. */
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** Applying a child that does not exist yet takes `patch` and `create`; a look before the first apply takes `get`. */
const forChildren = ['get', 'list', 'watch', 'create', 'patch', 'delete'];

/** Plurals of the kinds that an operator has to do with. */
export interface UsedKinds {
  readonly read: readonly string[];
  /** Whose status it writes. */
  readonly reconciled: readonly string[];
  /** Whose children it makes. */
  readonly owning: readonly string[];
}

/** What the operator does in every namespace it watches, and nothing else. */
export const watchedNamespaceRules = (group: string, kinds: UsedKinds): readonly PolicyRule[] => [
  { apiGroups: [group], resources: kinds.read, verbs: ['list', 'watch'] },
  { apiGroups: [group], resources: kinds.reconciled.map((plural) => `${plural}/status`), verbs: ['patch'] },
  // `blockOwnerDeletion` needs it where OwnerReferencesPermissionEnforcement is on (OpenShift).
  { apiGroups: [group], resources: kinds.owning.map((plural) => `${plural}/finalizers`), verbs: ['update'] },
  { apiGroups: [''], resources: ['configmaps', 'serviceaccounts', 'services'], verbs: forChildren },
  { apiGroups: ['apps'], resources: ['deployments', 'statefulsets'], verbs: forChildren },
  { apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'], verbs: forChildren },
  { apiGroups: ['apps'], resources: ['replicasets'], verbs: ['list', 'watch'] },
  // `patch` annotates pods whose mounted config changed. `get` is for the bridges of stdio servers: RBAC lets the
  // operator grant only rights that it has itself.
  { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch', 'patch'] },
  // And so is this, which the operator itself never does.
  { apiGroups: [''], resources: ['pods/attach'], verbs: ['get', 'create'] },
  { apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles', 'rolebindings'], verbs: forChildren },
  // Metadata alone is asked for; RBAC has no word for that difference.
  { apiGroups: [''], resources: ['secrets'], verbs: ['list', 'watch'] },
  // Only the events of a StatefulSet say why it makes no pod.
  { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'list'] },
];

/**
 * What it does in its own namespace beside that: who leads, and the key of the management ports. What is created has no
 * name yet to grant.
 */
export const operatorNamespaceRules: readonly PolicyRule[] = [
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
  {
    apiGroups: ['coordination.k8s.io'],
    resources: ['leases'],
    resourceNames: ['vmcp-operator'],
    verbs: ['get', 'update'],
  },
  { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
  { apiGroups: [''], resources: ['secrets'], resourceNames: ['vmcp-operator-management'], verbs: ['get'] },
];

/**
 * What the validating webhook takes beside that, in every namespace. Before it refuses it looks again at what is
 * stored: at what a rule asked for and at who uses what is to be deleted (`read`).
 */
export const webhookRules = (group: string, read: readonly string[], configuration: string): readonly PolicyRule[] => [
  { apiGroups: [group], resources: read, verbs: ['get'] },
  // Whether it is being deleted.
  { apiGroups: [''], resources: ['namespaces'], verbs: ['get'] },
  {
    apiGroups: ['admissionregistration.k8s.io'],
    resources: ['validatingwebhookconfigurations'],
    resourceNames: [configuration],
    verbs: ['get', 'patch'],
  },
];

/** And in the operator's own namespace: the certificates. That it may create a Secret is said above. */
export const webhookOperatorNamespaceRules: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['secrets'], resourceNames: ['vmcp-operator-webhook'], verbs: ['get', 'update'] },
];
