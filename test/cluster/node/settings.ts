import { stringify } from 'yaml';
import { PAUSE_IMAGE } from '../images/image-store.ts';
import { type Addresses, CLUSTER_DOMAIN } from './addresses.ts';
import type { CgroupKind } from './cgroups.ts';

export const CONTAINERD_SOCKET = '/run/containerd/containerd.sock';

/** A full path each, because the programs run in their own mount namespace with a fresh /run and /var. */
export interface NodePaths {
  readonly kubeconfig: string;
  readonly cniPlugins: string;
  readonly cniConfig: string;
  readonly containerdRoot: string;
  readonly resolvConf: string;
}

export const containerdSettings = (paths: NodePaths): string => `version = 3
root = "${paths.containerdRoot}"
state = "/run/containerd"
disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.snapshotter.v1.erofs", "io.containerd.snapshotter.v1.blockfile"]

[grpc]
  address = "${CONTAINERD_SOCKET}"

[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "${PAUSE_IMAGE}"

[plugins."io.containerd.cri.v1.runtime"]
  # Inside a container, nobody may lower the score of a process below the parent's.
  restrict_oom_score_adj = true
  disable_apparmor = true
  tolerate_missing_hugetlb_controller = true
  enable_unprivileged_ports = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["${paths.cniPlugins}"]
    conf_dir = "${paths.cniConfig}"
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
      SystemdCgroup = false
`;

export const cniSettings = ({ podRange }: Addresses): string =>
  JSON.stringify({
    cniVersion: '1.0.0',
    name: 'node',
    plugins: [
      {
        type: 'bridge',
        bridge: 'cni0',
        isGateway: true,
        ipMasq: false,
        hairpinMode: true,
        ipam: {
          type: 'host-local',
          dataDir: '/run/cni-ipam',
          ranges: [[{ subnet: podRange }]],
          routes: [{ dst: '0.0.0.0/0' }],
        },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  });

export const kubeletSettings = (paths: NodePaths, { cgroup, dns }: Addresses, cgroups: CgroupKind): string =>
  stringify({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    // The kubelet of 1.36 refuses v1 hosts unless told otherwise, and knows no such choice on v2.
    ...(cgroups === 'v1' ? { failCgroupV1: false } : {}),
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${cgroup}`,
    containerRuntimeEndpoint: `unix://${CONTAINERD_SOCKET}`,
    address: '0.0.0.0',
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    clusterDNS: [dns],
    clusterDomain: CLUSTER_DOMAIN,
    resolvConf: paths.resolvConf,
    failSwapOn: false,
    oomScoreAdj: 0,
    maxOpenFiles: 20_000,
    // Images were loaded by hand and cannot be pulled again, so none may ever be collected, however full the disk.
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    evictionHard: {
      'memory.available': '100Mi',
      'nodefs.available': '1%',
      'imagefs.available': '1%',
      'nodefs.inodesFree': '1%',
    },
    volumePluginDir: '/var/lib/kubelet/volume-plugins',
    // Mounted ConfigMaps follow a change within seconds instead of a minute.
    syncFrequency: '5s',
    serializeImagePulls: false,
  });

export const proxySettings = (paths: NodePaths, { podRange }: Addresses): string =>
  stringify({
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: 'iptables',
    clusterCIDR: podRange,
    hostnameOverride: 'node1',
    clientConnection: { kubeconfig: paths.kubeconfig },
    // Zero leaves the connection tracking of the whole machine alone.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
    oomScoreAdj: 0,
    iptables: { minSyncPeriod: '0s', syncPeriod: '30s' },
  });

export const dnsSettings = (paths: NodePaths): string => `.:53 {
    errors
    ready 127.0.0.1:8181
    kubernetes ${CLUSTER_DOMAIN} in-addr.arpa {
        kubeconfig ${paths.kubeconfig} test
        pods insecure
    }
    cache 5
}
`;

/** CoreDNS runs beside the pods, not in one: its Service points at the node. */
export const dnsService = ({ dns, node }: Addresses): string =>
  [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'kube-dns', namespace: 'kube-system' },
      spec: {
        clusterIP: dns,
        ports: [
          { name: 'dns', port: 53, protocol: 'UDP' },
          { name: 'dns-tcp', port: 53, protocol: 'TCP' },
        ],
      },
    },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'kube-dns', namespace: 'kube-system', labels: { 'kubernetes.io/service-name': 'kube-dns' } },
      addressType: 'IPv4',
      ports: [
        { name: 'dns', port: 53, protocol: 'UDP' },
        { name: 'dns-tcp', port: 53, protocol: 'TCP' },
      ],
      endpoints: [{ addresses: [node], conditions: { ready: true } }],
    },
  ]
    .map((object) => stringify(object))
    .join('---\n');
