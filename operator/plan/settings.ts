import type { KubeObject } from '../object.ts';
import type { Mac } from './mac.ts';

/** What differs between a cluster and a directory; everything else of a plan is the same. */
export interface Settings {
  /** DNS suffix of Services. Default `cluster.local`. */
  readonly clusterDomain: string;
  /** Image of the runtime container, in full. */
  readonly runtimeImage: string;
  /** Image of the container that bridges a stdio server to HTTP (`vmcp-operator bridge`), in full. */
  readonly bridgeImage: string;
  /** Certificate authorities that every runtime trusts beside the public ones. Absent: none. */
  readonly trustedCa?: TrustedCa;
  /** Namespace of the operator, named in nothing but messages and its own objects. */
  readonly operatorNamespace: string;
  /** Public keys (JWK, Ed25519) whose tokens the management port of a runtime accepts; newest first. */
  readonly operatorKeys: readonly Readonly<Record<string, unknown>>[];
  /** Authenticates accepted specs in ConfigMaps; without it no ConfigMap is trusted. Absent outside a cluster. */
  readonly mac?: Mac;
  /** Issuer of the cluster's service-account tokens; absent where it is not known. */
  readonly clusterIssuer?: ClusterIssuer;
  /** Local mode: where backends run and what URLs look like. Absent in a cluster. */
  readonly local?: LocalSettings;
}

/** A ConfigMap that each namespace with servers has, and its key with the PEM. */
export interface TrustedCa {
  readonly configMap: string;
  readonly key: string;
}

export interface LocalSettings {
  /** Holds `<namespace>/secrets/<secret>/<key>` and `<namespace>/configmaps/<configmap>/<key>`, as files. */
  readonly filesDirectory: string;
  /** Backend name → URL where it really runs; wins over what the manifests say. */
  readonly backends: Readonly<Record<string, string>>;
  /** Server name → public port on loopback (the management port is the next one). */
  readonly ports: Readonly<Record<string, number>>;
}

/** For the objects of one namespace: another one may have Secrets of the same names. */
export const settingsIn = (settings: Settings, { metadata: { namespace = 'default' } }: KubeObject): Settings => {
  const { local } = settings;
  return local === undefined
    ? settings
    : { ...settings, local: { ...local, filesDirectory: `${local.filesDirectory}/${namespace}` } };
};

/** The URL that local mode maps a backend to. Names come from manifests: `constructor` is one like any other. */
export const mappedUrl = ({ local }: Settings, backend: string): string | undefined =>
  local !== undefined && Object.hasOwn(local.backends, backend) ? local.backends[backend] : undefined;

/**
 * What the API server says of the service-account tokens that it issues (docs/decisions.md "Tokens of service
 * accounts").
 */
export interface ClusterIssuer {
  readonly issuer: string;
  /** JSON Web Keys. */
  readonly keys: readonly Readonly<Record<string, unknown>>[];
}
