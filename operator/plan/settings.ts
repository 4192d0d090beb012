/** What differs between a cluster and a directory; everything else of a plan is the same. */
export interface Settings {
  /** DNS suffix of Services. Default `cluster.local`. */
  readonly clusterDomain: string;
  /** Image of the runtime container, in full. */
  readonly runtimeImage: string;
  /** Namespace of the operator, named in nothing but messages and its own objects. */
  readonly operatorNamespace: string;
  /** Public keys (JWK, Ed25519) whose tokens the management port of a runtime accepts; newest first. */
  readonly operatorKeys: readonly Readonly<Record<string, unknown>>[];
  /** Local mode: where backends run and what URLs look like. Absent in a cluster. */
  readonly local?: LocalSettings;
}

export interface LocalSettings {
  /** Backend name → URL where it really runs; wins over what the manifests say. */
  readonly backends: Readonly<Record<string, string>>;
  /** Server name → public port on loopback (the management port is the next one). */
  readonly ports: Readonly<Record<string, number>>;
}
