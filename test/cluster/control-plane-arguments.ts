import type { filesIn } from './api-access.ts';

type Files = ReturnType<typeof filesIn>;

/**
 * Over a Unix socket: one port less to collide. What it advertises is read by other members only, and there are none.
 */
export const etcdArguments = (files: Files): string[] => [
  `--data-dir=${files.etcdData}`,
  `--listen-client-urls=unix://${files.etcdSocket}`,
  '--advertise-client-urls=http://127.0.0.1:2379',
  '--listen-peer-urls=http://127.0.0.1:0',
  '--unsafe-no-fsync',
  '--log-level=error',
];

export const apiServerArguments = (files: Files, serviceRange: string): string[] => [
  `--etcd-servers=unix://${files.etcdSocket}`,
  `--cert-dir=${files.certificates}`,
  '--service-account-issuer=https://kubernetes.default.svc',
  `--service-account-key-file=${files.serviceAccountKey}`,
  `--service-account-signing-key-file=${files.serviceAccountKey}`,
  '--authorization-mode=RBAC',
  `--token-auth-file=${files.tokens}`,
  `--service-cluster-ip-range=${serviceRange}`,
  '--allow-privileged=true',
  `--audit-policy-file=${files.auditPolicy}`,
  `--audit-log-path=${files.auditLog}`,
];

export const controllerManagerArguments = (files: Files): string[] => [
  `--kubeconfig=${files.kubeconfig}`,
  `--service-account-private-key-file=${files.serviceAccountKey}`,
  `--root-ca-file=${files.caFile}`,
  // Each controller acts with its own rights, so that the audit log tells them apart.
  '--use-service-account-credentials=true',
  '--leader-elect=false',
  '--kube-api-qps=300',
  '--kube-api-burst=600',
  '--secure-port=0',
];
