/** So many nodes run on one machine at a time: tests on a node wait for pods more than they compute. */
export const NODES = 2;

/** What a node has on the host that another node must not have. */
export interface Addresses {
  readonly podRange: string;
  readonly serviceRange: string;
  readonly dns: string;
  /** The host's end of the cable: pods reach a server of the test here. */
  readonly host: string;
  /** The node's end of it: the host reaches the API server here. */
  readonly node: string;
  /** The network link of the host's end. */
  readonly link: string;
  /** Below this group, in every hierarchy, is everything that the node's pods use. */
  readonly cgroup: string;
}

/** The ranges are private ones that neither Docker, Podman, kind nor a cloud gives out by default. */
export const ADDRESSES: readonly Addresses[] = Array.from({ length: NODES }, (_, number) => ({
  podRange: `10.218.${number * 128}.0/17`,
  serviceRange: `10.219.${number * 128}.0/17`,
  dns: `10.219.${number * 128}.10`,
  host: `10.217.${number}.1`,
  node: `10.217.${number}.2`,
  link: `vmcp-node${number}`,
  cgroup: `vmcp-test-node${number}`,
}));

export const API_PORT = 6443;
export const CLUSTER_DOMAIN = 'cluster.local';
