const labels = { 'app.kubernetes.io/managed-by': 'vmcp-operator' };
const pod = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'a', image: 'a' }] } };

const STRAYS = [
  { apiVersion: 'v1', kind: 'ConfigMap' },
  { apiVersion: 'v1', kind: 'ServiceAccount' },
  { apiVersion: 'v1', kind: 'Service', spec: { ports: [{ port: 80 }] } },
  { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', spec: { podSelector: {} } },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    spec: { replicas: 0, selector: { matchLabels: { a: 'b' } }, template: pod },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    spec: { replicas: 0, serviceName: 'a', selector: { matchLabels: { a: 'b' } }, template: pod },
  },
  { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', rules: [] },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'stray' },
  },
];

/** One object `stray` of each kind of child, with these owner references: as the operator's own, and planned by nothing. */
export const strayObjects = (ownersOf: (kind: string) => unknown): readonly object[] =>
  STRAYS.map((stray) => ({ ...stray, metadata: { name: 'stray', labels, ownerReferences: ownersOf(stray.kind) } }));
